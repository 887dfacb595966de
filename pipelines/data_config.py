"""The settings of a run's data: its location, cleaning, vocabulary and batches."""

import dataclasses

from pipelines.batches.batch_plan import BatchConfig
from pipelines.checks import setting, validate
from pipelines.text.cleaning_rules import CleaningConfig
from pipelines.text.held_out_files import HeldOutFiles, parse_sets
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig


@dataclasses.dataclass
class DataConfig:
    """Settings for the data of a run.

    Args:
        folder: folder of training data from t2t-prepare, or a mix of several with the shares of
            their pairs, such as "general:1,mine:4". "": the toy grammar.
        corpus_temperature: temperature of the shares of several corpora without weights, see
            `read_corpora`.
        toy_pairs: number of training pairs from the toy grammar.
        dev_source, dev_target: text files for evaluation during training. "": none, or the test
            split if the toy grammar is the training data.
        dev: several named held-out sets instead of `dev_source` and `dev_target`, each
            "NAME=SOURCE,TARGET", or "NAME=SOURCE,TARGET,TO" with a tag. The first is the main one.
        dev_pairs: number of lines to use from the start of the files of each set. 0: all.
    """

    folder: str = ""
    corpus_temperature: float = setting(1.0, at_least=1)
    toy_pairs: int = setting(20_000, at_least=1)
    dev_source: str = ""
    dev_target: str = ""
    dev: tuple[str, ...] = ()
    dev_pairs: int = setting(0, at_least=0)
    cleaning: CleaningConfig = dataclasses.field(default_factory=CleaningConfig)
    vocabulary: VocabularyConfig = dataclasses.field(default_factory=VocabularyConfig)
    encodings: EncodingsConfig = dataclasses.field(default_factory=EncodingsConfig)
    batches: BatchConfig = dataclasses.field(default_factory=BatchConfig)

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        validate(self)
        if self.corpus_temperature != 1 and not self.folder:
            raise ValueError(
                "`corpus_temperature` is for several corpora, such as --data=data/a,data/b. "
                f"Received: corpus_temperature={self.corpus_temperature!r} without data"
            )
        if bool(self.dev_source) != bool(self.dev_target):
            raise ValueError(
                "`dev_source` and `dev_target` go together. Received: "
                f"dev_source={self.dev_source!r}, dev_target={self.dev_target!r}"
            )
        if self.dev_source and self.dev:
            raise ValueError(
                "`dev_source` and `dev_target` name a single held-out set, `dev` several: give one "
                f"of the two. Received: dev_source={self.dev_source!r}, dev={self.dev!r}"
            )
        parse_sets(self.dev)
        self.cleaning.validate("cleaning.")
        self.vocabulary.validate("vocabulary.")
        self.encodings.validate()
        self.batches.validate("batches.")

    def held_out_files(self):
        """Returns the `HeldOutFiles` of each held-out set, the main one first."""
        if self.dev_source:
            return [HeldOutFiles("", self.dev_source, self.dev_target)]
        return parse_sets(self.dev)
