"""The settings of a distillation."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.checks import check, validate
from pipelines.text.held_out_files import parse_sets
from pipelines.text.opened_text import find_files
from t2t_keras.checks import check_needs
from t2t_keras.export.formats import CTRANSLATE2_DTYPES, ENGINES
from t2t_keras.runs.text_files import read_set

CHOICES = ("best", "reference")  # of --choose
HYPOTHESES = 8  # default of --n_best with --choose=reference
KEEP = 0.95  # default of --keep with --reverse
SMALLEST_VOCABULARY = 300  # the smallest one that byte pairs are learned for


def setting(description, default=None, **metadata):
    """Returns a field of `DistillationPlan`, whose flag has the description as its help."""
    return dataclasses.field(default=default, metadata={"description": description, **metadata})


@dataclasses.dataclass(kw_only=True)
class DistillationPlan:
    """The plan of a distillation: teachers, texts, and how the student is trained.

    t2t-distill has a flag for every field with a description. A wrong value, and settings that
    contradict each other, raise a `ValueError` that names the flags.

        DistillationPlan(teachers=["runs/big"], experiment="student:small", run="runs/small",
                         data="data/ende")

    Args:
        teachers: folder of a run or of an export, or of several runs, which are an ensemble.
        experiment: the student's `Experiment`, or the name of a config, such as "student:small".
        command: command line that is printed in the report.
    """

    teachers: Sequence[str]
    experiment: Any
    command: str = ""
    run: str | None = setting("folder of the student's run, new or to resume. Required.")
    texts: str | None = setting(
        "folder for translations and prepared data, which several students may share. Default: "
        "the folder distillation in --run.",
    )
    data: str | None = setting("folder written by t2t-prepare, whose sources are translated.")
    mono: str | None = setting(
        "further source text to translate: a file, a glob, or several separated by commas; "
        "compressed or not.",
    )
    to: str | None = setting("tag before each source, for teachers of several languages.")
    engine: str = setting(
        "what computes the translations, as in t2t-translate.", "auto", choices=ENGINES
    )
    dtype: str | None = setting(
        "type of the teacher's weights in its export, as in t2t-translate.",
        choices=tuple(CTRANSLATE2_DTYPES),
    )
    beam: int | None = setting(
        "beam width of the teacher. Default: the teacher's; with --choose=reference at least "
        "--n_best.",
        at_least=1,
    )
    choose: str = setting(
        "translation to learn from: the teacher's best one, or the one of --n_best that is "
        "closest to the reference.",
        "best",
        choices=CHOICES,
    )
    n_best: int | None = setting(
        f"number of translations that --choose=reference chooses from. Default: {HYPOTHESES}.",
        at_least=1,
    )
    apache_beam: bool = setting("translate as an Apache Beam pipeline; needs an export.", False)
    beam_options: Sequence[str] | None = setting("pipeline options for --apache_beam.")
    ratio: float = setting(
        "how many times as long or as short as expected a translation may be; 0: any length. "
        "Expected is the length of its source times the median ratio of all pairs.",
        2.5,
        above=1,
        off=True,
    )
    repetitions: int = setting(
        "how many times in a row a translation may contain a phrase, unless its source repeats "
        "one as well; 0: any number.",
        2,
        at_least=0,
    )
    reverse: str | None = setting(
        "run or export for the other direction, by which bad translations are found."
    )
    keep: float | None = setting(
        f"share of the translations to keep, the best ones for --reverse. Default: {KEEP}.",
        above=0,
        at_most=1,
    )
    vocabulary: str = setting(
        "vocabulary of the student: the teacher's, the one of --data, or the size of a new one, "
        "such as 8000.",
        "teacher",
    )
    real: float = setting(
        "share of the real pairs of --data in the training, such as 0.2; 0: none.",
        0.0,
        at_least=0,
        below=1,
    )
    dev_source: str | None = setting("file with held-out source text, evaluated during training.")
    dev_target: str | None = setting("file with the translations of --dev_source.")
    test: Sequence[str] = setting(
        "test set on which teacher and student are compared, NAME=SOURCE,TARGET. Repeat the flag "
        "for several. Default: the held-out text.",
        (),
        repeated=True,
    )

    def __post_init__(self):
        self.normalize()
        check(bool(self.teachers), "teachers", self.teachers, "one folder or more")
        check(bool(self.run), "run", self.run, "the folder of the student")
        validate(self)
        self.check_relations()
        self.check_files()

    @property
    def folder(self):
        """The folder for the files of this student: logs, comparison, report."""
        return Path(self.run) / "distillation"

    @property
    def texts_folder(self):
        return Path(self.texts) if self.texts else self.folder

    @property
    def tests(self):
        """The test sets, as {name: (source file, target file)}."""
        found = {each.name: (each.source, each.target) for each in parse_sets(self.test, "test")}
        if not found and self.dev_source:
            found = {"dev": (self.dev_source, self.dev_target)}
        return found

    @property
    def vocabulary_size(self):
        """The size of the vocabulary to learn, or None."""
        return int(self.vocabulary) if self.vocabulary.isdecimal() else None

    def normalize(self):
        """Converts paths to strings, loads the config, and fills in dependent defaults."""
        for name, value in vars(self).items():
            if isinstance(value, os.PathLike):
                setattr(self, name, value := os.fspath(value))
            if name in ("teachers", "test", "beam_options") and isinstance(value, str):
                setattr(self, name, [value])
        self.teachers = [os.fspath(folder) for folder in self.teachers or ()]
        from t2t_keras.experiment import Experiment, load_experiment  # loads Keras

        if isinstance(self.experiment, str):
            self.experiment = load_experiment(self.experiment)
        check(
            isinstance(self.experiment, Experiment),
            "experiment",
            self.experiment,
            "an Experiment, or the name of a config, such as student:small",
        )
        self.vocabulary = str(self.vocabulary)

    def check_relations(self):
        """Rejects settings that contradict each other or have no effect."""
        if size := self.vocabulary_size:
            check(size >= SMALLEST_VOCABULARY, "vocabulary", size, f"{SMALLEST_VOCABULARY} or more")
        elif self.vocabulary not in ("teacher", "data"):
            check(False, "vocabulary", self.vocabulary, "teacher, data, or a number of pieces")
        if not (self.data or self.mono):
            raise ValueError(
                "--data=FOLDER or --mono=FILES is required: the text that the teacher translates"
            )
        by_reference = self.choose == "reference"
        check_needs(
            self,
            (by_reference or self.n_best is None, "n_best", "--choose=reference"),
            (self.reverse or self.keep is None, "keep", "--reverse"),
            (self.apache_beam or not self.beam_options, "beam_options", "--apache_beam"),
            (self.data or not by_reference, "choose", "--data, which has the references"),
            (self.data or not self.real, "real", "--data, which has the real pairs"),
            (self.data or self.vocabulary != "data", "vocabulary", "--data"),
            (self.dev_target or not self.dev_source, "dev_source", "--dev_target"),
            (self.dev_source or not self.dev_target, "dev_target", "--dev_source"),
        )
        if by_reference and self.n_best is None:
            self.n_best = HYPOTHESES
        if by_reference and self.n_best < 2:
            raise ValueError(
                "--choose=reference needs at least 2 translations to choose from. Received: "
                f"--n_best={self.n_best}"
            )
        if by_reference and self.beam is not None and self.beam < self.n_best:
            raise ValueError(
                "A beam search finds as many translations as it is wide: --beam must be at least "
                f"--n_best. Received: --beam={self.beam} --n_best={self.n_best}"
            )
        if self.reverse and self.keep is None:
            self.keep = KEEP

    def check_files(self):
        if self.mono:
            find_files("mono", self.mono)
        tagged = [each for each in parse_sets(self.test, "test") if each.to]
        if tagged:
            raise ValueError(
                "A test set is NAME=SOURCE,TARGET; --to has the tag of all texts. Received: "
                f"--test={self.test[0]}"
            )
        for name, files in self.tests.items():
            read_set(f"--test={name}" if self.test else "--dev_source and --dev_target", *files)
        if self.dev_source:
            read_set("--dev_source and --dev_target", self.dev_source, self.dev_target)


def settings():
    """Returns the fields of `DistillationPlan` that are flags."""
    return [field for field in dataclasses.fields(DistillationPlan) if field.metadata]
