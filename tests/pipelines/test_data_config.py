import pytest

from pipelines.batches.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from pipelines.text.cleaning_rules import CleaningConfig
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig

PARTS = {
    "batches": BatchConfig,
    "cleaning": CleaningConfig,
    "encodings": EncodingsConfig,
    "vocabulary": VocabularyConfig,
}


@pytest.mark.parametrize(
    ("part", "settings", "message"),
    [
        (None, {"dev_source": "dev.en"}, "`dev_source` and `dev_target` go together"),
        ("batches", {"tokens": 100, "max_length": 60}, "tokens` must be at least row_multiple ·"),
        ("cleaning", {"empty": 1}, "`cleaning.empty` must be True or False. Rec.*empty=1"),
        ("encodings", {"per_sentence": 8}, "for example to 8 and 0.1.* encodings.per_sentence=8"),
        ("encodings", {"bpe_dropout": 0.1}, r"or neither of them.* encodings.bpe_dropout=0.1"),
        ("vocabulary", {"symbols": ("a b",)}, "`symbols` must be normalized words without spaces"),
        ("vocabulary", {"tags": ("a b",)}, "`tags` must be normalized words"),
        ("vocabulary", {"tags": ("a",), "kind": "word_pieces"}, "`tags` need .* of kind 'bpe'"),
    ],
)
def test_wrong_settings_of_all_parts_are_refused_by_name(part, settings, message):
    with pytest.raises(ValueError, match=message):
        DataConfig(**({part: PARTS[part](**settings)} if part else settings)).validate()


def test_changed_settings_are_validated_again():
    config = DataConfig()
    config.batches.tokens = 1
    with pytest.raises(ValueError, match="`tokens` must be at least"):
        config.validate()
