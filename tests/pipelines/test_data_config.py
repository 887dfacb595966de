import pytest

from pipelines.batches.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from pipelines.text.cleaning_config import CleaningConfig
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig


def changed_batches():
    batches = BatchConfig()
    batches.tokens = 1
    return batches


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"toy_pairs": 0}, "`toy_pairs` must be a whole number of at least 1"),
        ({"dev_pairs": -1}, "`dev_pairs` must be a whole number of at least 0"),
        ({"dev_source": "dev.en"}, "`dev_source` and `dev_target` go together"),
        ({"cleaning": CleaningConfig(max_ratio=0.5)}, "`max_ratio` must be"),
        ({"vocabulary": VocabularyConfig(kind="unigram")}, "`kind` must be"),
        ({"batches": changed_batches()}, "`tokens` must be at least"),
        ({"encodings": EncodingsConfig(per_sentence=2)}, "`encodings.bpe_dropout` above 0"),
    ],
)
def test_wrong_settings_of_all_parts_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        DataConfig(**settings).validate()
