"""The settings for reproducing a table or the claims."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipelines.checks import validate
from pipelines.text.treebank import LEAVES
from t2t_keras.checks import check_choice
from t2t_keras.reproduction.timing import sorted_lengths

TABLES = ("table1", "table2", "table3", "table4", "claims")


def setting(*tables, default=None, trains=False, description="", **rules):
    """Returns a field of `Plan`.

    Args:
        *tables: numbers of the tables that use the setting, or "claims". Other tables reject it.
        default: default value.
        trains: whether the setting only affects training. A plan with `run`, which trains
            nothing, rejects it.
        description: meaning of the setting, and help of its flag.
        **rules: bounds or `choices`, see `pipelines.checks`.
    """
    names = [table if isinstance(table, str) else f"table{table}" for table in tables]
    metadata = {"tables": names, "trains": trains, "description": description} | rules
    return dataclasses.field(default=default, metadata=metadata)


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
        *(1, 2, 3, 4, "claims"),
        description="folder for all files. Default: reproduced/ and the table's name.",
    )
    # Command line that is printed in the table's notes.
    command: str = setting(1, 2, 3, 4, "claims", default="")

    # Layers to time.
    d_model: int = setting(1, default=256, description="width d of the layers.", at_least=1)
    heads: int = setting(1, default=4, description="heads h of both attention layers.", at_least=1)
    neighbourhood: int = setting(
        1,
        default=65,
        description="neighbourhood r of restricted self-attention.",
        at_least=1,
    )
    kernel: int = setting(
        1, default=3, description="kernel width k of the convolutions.", at_least=1
    )
    lengths: Sequence[int] = setting(
        1, default=(1024, 2048, 4096, 8192, 16384), description="sequence lengths n."
    )
    rounds: int = setting(
        1, default=7, description="timed calls for each layer and length.", at_least=1
    )

    # Reductions of the paper's settings.
    divide: int | None = setting(
        2,
        3,
        4,
        trains=True,
        description="divisor of all widths of the models.",
        at_least=1,
    )
    divide_layers: int | None = setting(
        2,
        3,
        4,
        trains=True,
        description="divisor of the number of layers.",
        at_least=1,
    )
    steps: int | None = setting(
        *(2, 3, 4, "claims"),
        trains=True,
        description="training steps; the warm-up shrinks in proportion.",
        at_least=1,
    )
    operations: float | None = setting(
        2,
        trains=True,
        description="floating-point operations to train each row for, instead of --steps. So the "
        "rows cost the same.",
        above=0,
    )
    reduced: str | None = setting(
        *(2, 3, 4),
        trains=True,
        description="config with settings for less data or less time. In table2, one for each row, "
        "separated by commas; in table3, for all rows.",
    )
    learning_rates: Sequence[str] | None = setting(
        2,
        trains=True,
        description="learning rates to choose from by short trainings, for example 1e-3,3e-3. Each "
        "row is trained with each rate for a tenth of its steps, and then with the best.",
    )
    layers: Sequence[str] | None = setting(
        2,
        trains=True,
        description="numbers of layers to choose from by short trainings, one entry for each row: "
        "2/4, or 3+2/4+3 with other numbers in the decoder.",
    )
    first: str | None = setting(
        4,
        trains=True,
        description="config to train with first, such as one for short sentences. The training "
        "itself starts from these weights.",
    )
    # For example {"model.dropout": 0.2}.
    overrides: Mapping | None = setting(2, 3, 4, "claims")

    # Rows, training text and held-out text.
    rows: Sequence[str] | None = setting(
        *(2, 3, "claims"),
        description="names of the rows or experiments. Default: all; in table2, base and big, "
        "without the rivals.",
    )
    source: str | None = setting(
        *(2, 3),
        trains=True,
        description="source text to train on: a file, a glob, or several separated by commas. "
        "Default: WMT 2014 for table2, the toy grammar for table3.",
    )
    target: str | None = setting(
        2, 3, trains=True, description="files with the translations of --source."
    )
    data: str | None = setting(
        *(2, 3),
        trains=True,
        description="folder written by t2t-prepare, to train on instead of --source.",
    )
    tfds: str | None = setting(
        *(2, 3),
        description="name or folder of a TensorFlow data set to train on instead of --source. Its "
        "validation and test splits are the held-out text and the test set.",
    )
    data_dir: str | None = setting(
        *(2, 3),
        description="folder of prepared TensorFlow data sets. Default: ~/tensorflow_datasets.",
    )
    dev_source: str | None = setting(
        *(2, 3),
        trains=True,
        description="file with held-out source text, evaluated during training in table2, scored "
        "in table3.",
    )
    dev_target: str | None = setting(
        2, 3, trains=True, description="file with the translations of --dev_source."
    )
    seeds: int = setting(
        *(2, 3),
        default=1,
        trains=True,
        description="number of trainings of each row, each with a different seed.",
        at_least=1,
    )
    language: str = setting(
        3, default="de", description="target language, for the paper's BLEU and for --tfds."
    )

    # Test sets and runs to score.
    test_source: Sequence[str] | None = setting(
        2, description="source files of the test sets, one per test set."
    )
    test_target: Sequence[str] | None = setting(
        2, description="translations of the files of --test_source."
    )
    evaluate_only: bool = setting(
        2,
        default=False,
        trains=True,
        description="score the runs in --output as they are; train nothing.",
    )
    run: str | None = setting(2, 4, description="existing run to score; nothing is trained.")

    # Treebanks.
    train: str | None = setting(
        4,
        description="files of trees to train on, or that --run was trained on: a glob, or several "
        "separated by commas.",
    )
    automatic: str | None = setting(
        4, description="files of automatically parsed trees to mix with --train."
    )
    ratio: float | None = setting(
        4,
        description="automatic trees per gold tree. Default: all trees of both, once.",
        above=0,
    )
    dev: str | None = setting(
        4, description="files of gold trees to score; section 22 in the paper."
    )
    test: str | None = setting(
        4, description="files of gold trees to score; section 23 in the paper."
    )
    leaves: str | None = setting(
        4,
        description="symbol for a word among the brackets: XX, tag or word. Default: from --run, "
        "else XX.",
        choices=LEAVES,
    )

    def __post_init__(self):
        check_choice("TABLE", self.table, TABLES)
        self.check_tables()
        self.normalize()
        self.check_values()
        if self.run:
            self.check_nothing_trains()
        self.check_text()

    @property
    def folder(self):
        """The output folder."""
        return Path(self.output or Path("reproduced") / self.table)

    @property
    def has_text(self):
        """Whether the plan names a training text."""
        return bool(self.source or self.data or self.tfds)

    def given(self):
        """Returns {name: value} for the settings that differ from their defaults."""
        values = {field.name: getattr(self, field.name) for field in settings()}
        defaults = {field.name: field.default for field in settings()}
        return {
            name: value
            for name, value in values.items()
            if value != defaults[name] and value not in (None, "", [], (), {})
        }

    def normalize(self):
        """Converts paths to strings, and lengths to sorted integers."""
        lists = ("rows", "lengths", "learning_rates", "layers", "test_source", "test_target")
        for name in lists:
            if isinstance(value := getattr(self, name), str):
                raise ValueError(f"`{name}` must be a list. Received: {name}={value!r}")
        for name, value in self.given().items():
            if isinstance(value, os.PathLike):
                setattr(self, name, os.fspath(value))
            elif name in ("test_source", "test_target"):
                setattr(self, name, [os.fspath(path) for path in value])
        self.lengths = sorted_lengths(self.lengths)

    def check_tables(self):
        for field in settings():
            tables = field.metadata["tables"]
            if field.name in self.given() and self.table not in tables:
                raise ValueError(
                    f"{flag(field.name)} is for {' and '.join(tables)} only. "
                    f"Received: {flag(field.name)} for {self.table}. See --help"
                )

    def check_values(self):
        validate(self)
        if self.operations is not None and self.steps is not None:
            raise ValueError(
                "--operations and --steps both say how long to train. Leave one of them out. "
                f"Received: --operations={self.operations:g} --steps={self.steps}"
            )
        if self.ratio is not None and not self.automatic:
            raise ValueError(
                "--ratio needs --automatic, the trees to mix in. "
                f"Received: --ratio={self.ratio:g} alone"
            )
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

    def check_text(self):
        for one, other in (("source", "target"), ("dev_source", "dev_target")):
            values = getattr(self, one), getattr(self, other)
            if bool(values[0]) != bool(values[1]):
                raise ValueError(
                    f"--{one} and --{other} go together. Received: {values[0]} and {values[1]}"
                )
        sources = [name for name in ("source", "data", "tfds") if getattr(self, name)]
        if len(sources) > 1:
            raise ValueError(
                "Only one training text is allowed: --source=FILE with --target=FILE, "
                "--data=FOLDER or --tfds=NAME. "
                f"Received: {', '.join(f'--{name}' for name in sources)}"
            )
        if self.data_dir and not self.reads_data_sets():
            raise ValueError(
                "--data_dir is for text from TensorFlow Datasets. Leave it out. "
                f"Received: --data_dir={self.data_dir}"
            )

    def reads_data_sets(self):
        """Returns whether any text comes from TensorFlow Datasets, the default in table2 only."""
        return bool(self.tfds) or (self.table == "table2" and not self.has_text)


def settings():
    """Returns all fields of `Plan` except `table`."""
    return [field for field in dataclasses.fields(Plan) if field.name != "table"]


def flag(name):
    """Returns the flag for a setting of the plan."""
    return "--config" if name == "overrides" else f"--{name}"
