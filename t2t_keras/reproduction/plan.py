"""The settings for reproducing a table or the claims."""

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipelines.checks import validate
from pipelines.text.treebank import LEAVES
from t2t_keras.checks import check_choice, check_needs
from t2t_keras.reproduction.timing import sorted_lengths

# {setting: the setting that it needs}
NEEDS = {
    **{"source": "target", "target": "source"},
    **{"dev_source": "dev_target", "dev_target": "dev_source", "ratio": "automatic"},
}
TABLES = ("table1", "table2", "table3", "table4", "claims")


def setting(tables, description="", default=None, trains=False, **rules):
    """Returns a field of `Plan`.

    Args:
        tables: numbers of the tables that use the setting, or "claims". Other tables reject it.
        description: meaning of the setting, and help of its flag.
        default: default value.
        trains: whether the setting only affects training. A plan with `run`, which trains
            nothing, rejects it.
        **rules: bounds or `choices`, see `pipelines.checks`.
    """
    names = [table if isinstance(table, str) else f"table{table}" for table in tables]
    metadata = {"tables": names, "trains": trains, "description": description} | rules
    return dataclasses.field(default=default, metadata=metadata)


training_setting = functools.partial(setting, trains=True)
ALL = (1, 2, 3, 4, "claims")


@dataclasses.dataclass(kw_only=True)
class Plan:
    """The plan for reproducing a table or the paper's claims.

    t2t-reproduce has a flag for every field except `table`, `command` and `overrides`. A wrong
    value, a setting that the table does not use, and settings that contradict each other raise a
    `ValueError` that names the flags.

        Plan("table3", rows=["base", "C_N2"], steps=500)
    """

    table: str = dataclasses.field(kw_only=False)  # one of TABLES
    output: str | None = setting(
        ALL, "folder for all files. Default: reproduced/ and the table's name."
    )
    command: str = setting(ALL, default="")  # printed in the table's notes

    # Layers to time.
    d_model: int = setting((1,), "width d of the layers.", 256, at_least=1)
    heads: int = setting((1,), "heads h of both attention layers.", 4, at_least=1)
    neighbourhood: int = setting(
        (1,), "neighbourhood r of restricted self-attention.", 65, at_least=1
    )
    kernel: int = setting((1,), "kernel width k of the convolutions.", 3, at_least=1)
    lengths: Sequence[int] = setting((1,), "sequence lengths n.", (1024, 2048, 4096, 8192, 16384))
    rounds: int = setting((1,), "timed calls for each layer and length.", 7, at_least=1)

    # Reductions of the paper's settings.
    divide: int | None = training_setting(
        (2, 3, 4), "divisor of all widths of the models.", at_least=1
    )
    divide_layers: int | None = training_setting(
        (2, 3, 4), "divisor of the number of layers.", at_least=1
    )
    steps: int | None = training_setting(
        (2, 3, 4, "claims"), "training steps; the warm-up shrinks in proportion.", at_least=1
    )
    operations: float | None = training_setting(
        (2,),
        "floating-point operations to train each row for, instead of --steps, so that "
        "the rows cost the same.",
        above=0,
    )
    reduced: str | None = training_setting(
        (2, 3, 4),
        "config with settings for less data or less time. In table2, one for each row, separated "
        "by commas; in table3, for all rows.",
    )
    learning_rates: Sequence[str] | None = training_setting(
        (2,),
        "learning rates to choose from by short training, for example 1e-3,3e-3. Each row is "
        "trained with each rate for a tenth of its steps, and then with the best.",
    )
    layers: Sequence[str] | None = training_setting(
        (2,),
        "numbers of layers to choose from by short training, one entry for each row: 2/4, or "
        "3+2/4+3 with other numbers in the decoder.",
    )
    first: str | None = training_setting(
        (4,),
        "config to train with first, such as one for short sentences. The training itself starts "
        "from these weights.",
    )
    overrides: Mapping | None = setting((2, 3, 4, "claims"))  # for example {"model.dropout": 0.2}

    # Rows, training text and held-out text.
    rows: Sequence[str] | None = setting(
        (2, 3, "claims"),
        "names of the rows or experiments. Default: all; in table2, base and big, without the "
        "rivals.",
    )
    source: str | None = training_setting(
        (2, 3),
        "source text to train on: a file, a glob, or several separated by commas. Default: WMT "
        "2014 for table2, the toy grammar for table3.",
    )
    target: str | None = training_setting((2, 3), "files with the translations of --source.")
    data: str | None = training_setting(
        (2, 3), "folder written by t2t-prepare, to train on instead of --source."
    )
    tfds: str | None = setting(
        (2, 3),
        "name or folder of a TensorFlow data set to train on instead of --source. Its validation "
        "and test splits are the held-out text and the test set.",
    )
    data_dir: str | None = setting(
        (2, 3), "folder of prepared TensorFlow data sets. Default: ~/tensorflow_datasets."
    )
    dev_source: str | None = training_setting(
        (2, 3),
        "file with held-out source text, evaluated during training in table2, scored in table3.",
    )
    dev_target: str | None = training_setting((2, 3), "file with the translations of --dev_source.")
    seeds: int = training_setting(
        (2, 3), "number of trainings of each row, each with a different seed.", 1, at_least=1
    )
    language: str = setting((3,), "target language, for the paper's BLEU and for --tfds.", "de")

    # Test sets and runs to score.
    test_source: Sequence[str] | None = setting(
        (2,), "source files of the test sets, one per test set."
    )
    test_target: Sequence[str] | None = setting((2,), "translations of the files of --test_source.")
    evaluate_only: bool = training_setting(
        (2,), "score the runs in --output as they are; train nothing.", False
    )
    run: str | None = setting((2, 4), "existing run to score; nothing is trained.")

    # Treebanks.
    train: str | None = setting(
        (4,),
        "files of trees to train on, or that --run was trained on: a glob, or several separated by "
        "commas.",
    )
    automatic: str | None = setting(
        (4,), "files of automatically parsed trees to mix with --train."
    )
    ratio: float | None = setting(
        (4,), "automatic trees per gold tree. Default: all trees of both, once.", above=0
    )
    dev: str | None = setting((4,), "files of gold trees to score; section 22 in the paper.")
    test: str | None = setting((4,), "files of gold trees to score; section 23 in the paper.")
    leaves: str | None = setting(
        (4,),
        "symbol for a word among the brackets: XX, tag or word. Default: from --run, else XX.",
        choices=LEAVES,
    )

    def __post_init__(self):
        check_choice("TABLE", self.table, TABLES)
        for field in settings():
            value = getattr(self, field.name)
            is_list = field.type in (Sequence[int], Sequence[str] | None)
            if isinstance(value, str | os.PathLike):
                value = [os.fspath(value)] if is_list else os.fspath(value)
            elif is_list and value is not None:
                value = [os.fspath(each) if isinstance(each, Path) else each for each in value]
            setattr(self, field.name, value)
        self.lengths = sorted_lengths(self.lengths)
        self.check_tables()
        validate(self)
        self.check_relations()
        if self.run:
            self.check_nothing_trains()

    @property
    def folder(self):
        return Path(self.output or Path("reproduced") / self.table)

    @property
    def has_text(self):
        """Whether the plan names a training text."""
        return bool(self.source or self.data or self.tfds)

    def given(self):
        """Returns {name: value} for the settings that differ from their defaults."""
        values = {field.name: getattr(self, field.name) for field in settings()}
        defaults = {field.name: field.default for field in settings()}
        return {name: x for name, x in values.items() if x and x != defaults[name]}

    def check_tables(self):
        for field in settings():
            tables = field.metadata["tables"]
            if field.name in self.given() and self.table not in tables:
                raise ValueError(
                    f"{flag(field.name)} is for {' and '.join(tables)} only. "
                    f"Received: {flag(field.name)} for {self.table}. See --help"
                )

    def check_relations(self):
        for names in (("source", "data", "tfds"), ("steps", "operations")):
            given = [f"--{name}" for name in names if getattr(self, name)]
            if len(given) > 1:
                raise ValueError(
                    f"Only one of --{', --'.join(names)} is allowed. Received: {', '.join(given)}"
                )
        for name, other in NEEDS.items():
            check_needs(self, (getattr(self, other) or not getattr(self, name), name, f"--{other}"))
        # Only Table 2 reads TensorFlow Datasets by default.
        reads_data_sets = self.tfds or (self.table == "table2" and not self.has_text)
        check_needs(self, (reads_data_sets or not self.data_dir, "data_dir", "--tfds=NAME"))
        if "training.steps" in (self.overrides or {}):
            raise ValueError(
                "--config.training.steps would leave the warm-up at full length. Use --steps, "
                "which shortens both. "
                f"Received: --config.training.steps={self.overrides['training.steps']}"
            )

    def check_nothing_trains(self):
        for field in settings():
            if field.metadata["trains"] and field.name in self.given():
                raise ValueError(
                    f"--{field.name} is for training, and --run trains nothing. Leave one of them "
                    f"out. Received: --{field.name}={getattr(self, field.name)}, --run={self.run}"
                )
        for name, value in (self.overrides or {}).items():
            if not name.startswith("search."):
                raise ValueError(
                    "With --run, which trains nothing, --config can change only search settings. "
                    f"Received: --config.{name}={value}, --run={self.run}"
                )


def settings():
    """Returns all fields of `Plan` except `table`."""
    return [field for field in dataclasses.fields(Plan) if field.name != "table"]


def flag(name):
    """Returns the flag for a setting of the plan."""
    return "--config" if name == "overrides" else f"--{name}"
