"""The settings for reproducing a table or the claims, and which of them read each setting."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipelines.text.treebank import LEAVES
from t2t_keras.checks import check_choice, check_integer, check_positive
from t2t_keras.reproduction.timing import sorted_lengths

TABLES = ("table1", "table2", "table3", "table4", "claims")


def setting(*tables, default=None, trains=False):
    """Returns a field of `Plan`.

    Args:
        *tables: numbers of the tables that read it, or "claims"; every other one rejects it.
        default: its default value.
        trains: whether only training reads it. A plan with `run` does not train and rejects it.
    """
    names = [table if isinstance(table, str) else f"table{table}" for table in tables]
    metadata = {"tables": names, "trains": trains}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(kw_only=True)
class Plan:
    """A table to reproduce, or the paper's claims, with data and all changes to its settings.

    t2t-reproduce has a flag for every field except `table`, `command` and `overrides`. A wrong
    value, a setting that the table does not read, and settings that contradict each other raise a
    `ValueError` that names the flags.

        Plan("table3", rows=["base", "C_N2"], steps=500)
    """

    table: str = dataclasses.field(kw_only=False)  # one of TABLES
    # Folder for all files; None: reproduced/TABLE
    output: str | None = setting(1, 2, 3, 4, "claims")
    # Command line, for the table's notes
    command: str = setting(1, 2, 3, 4, "claims", default="")

    # Layers to time
    d_model: int = setting(1, default=256)  # width d
    heads: int = setting(1, default=4)  # heads h of both attention layers
    neighbourhood: int = setting(1, default=65)  # r of restricted self-attention
    kernel: int = setting(1, default=3)  # width k of the convolutions
    lengths: Sequence[int] = setting(1, default=(1024, 2048, 4096, 8192, 16384))  # n
    rounds: int = setting(1, default=7)  # timed calls per layer and length

    # Reductions of the paper's settings
    divide: int | None = setting(2, 3, 4, trains=True)  # divisor of all widths
    divide_layers: int | None = setting(2, 3, 4, trains=True)  # divisor of the number of layers
    # Training steps; the warm-up shrinks too
    steps: int | None = setting(2, 3, 4, "claims", trains=True)
    # Floating-point operations to train each row for, in place of `steps`
    operations: float | None = setting(2, trains=True)
    # Config for less data or less time; in table2 one for each row, separated by commas
    reduced: str | None = setting(2, 3, 4, trains=True)
    # Value by setting: {"model.dropout": 0.2}
    overrides: Mapping | None = setting(2, 3, 4, "claims")

    # Rows, training text and held-out text
    rows: Sequence[str] | None = setting(2, 3, "claims")  # names; None: all but rivals
    source: str | None = setting(2, 3, trains=True)  # to train on: paths or globs, with commas
    target: str | None = setting(2, 3, trains=True)  # translations of `source`
    data: str | None = setting(2, 3, trains=True)  # folder written by t2t-prepare
    tfds: str | None = setting(2, 3)  # TensorFlow data set
    data_dir: str | None = setting(2, 3)  # folder of prepared TensorFlow data sets
    dev_source: str | None = setting(2, 3, trains=True)  # held-out text
    dev_target: str | None = setting(2, 3, trains=True)  # translations of `dev_source`
    seeds: int = setting(3, default=1, trains=True)  # trainings of base; their spread is the noise
    language: str = setting(3, default="de")  # target language, for the paper's BLEU

    # Test sets and runs to score
    test_source: Sequence[str] | None = setting(2)  # files, one per test set
    test_target: Sequence[str] | None = setting(2)  # translations of `test_source`
    # Score the runs in `output` as they are
    evaluate_only: bool = setting(2, default=False, trains=True)
    run: str | None = setting(2, 4)  # existing run to score; nothing is trained

    # Treebanks
    train: str | None = setting(4)  # trees to train on: paths or globs, with commas
    automatic: str | None = setting(4)  # automatically parsed trees: paths or globs, with commas
    ratio: float | None = setting(4)  # automatic trees per gold tree; None: all of both
    dev: str | None = setting(4)  # trees to score; section 22 in the paper
    test: str | None = setting(4)  # trees to score; section 23 in the paper
    leaves: str | None = setting(4)  # one of LEAVES; None: XX, or that of `run`

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
        return Path(self.output or f"reproduced/{self.table}")

    @property
    def has_text(self):
        """Whether a training text is given."""
        return bool(self.source or self.data or self.tfds)

    def given(self):
        """Returns the settings that differ from their defaults, by name."""
        values = {field.name: getattr(self, field.name) for field in settings()}
        defaults = {field.name: field.default for field in settings()}
        return {
            name: value
            for name, value in values.items()
            if value != defaults[name] and value not in (None, "", [], (), {})
        }

    def normalize(self):
        """Converts paths to strings, and lengths to sorted integers."""
        for name in ("rows", "lengths", "test_source", "test_target"):
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
        for name in ("d_model", "heads", "neighbourhood", "kernel", "rounds", "seeds"):
            check_integer(name, getattr(self, name))
        for name in ("divide", "divide_layers", "steps"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name))
        if self.operations is not None:
            check_positive("operations", self.operations)
            if self.steps is not None:
                raise ValueError(
                    "--operations and --steps both say how long to train. Leave one of them out. "
                    f"Received: --operations={self.operations:g} --steps={self.steps}"
                )
        if self.ratio is not None:
            check_positive("ratio", self.ratio)
            if not self.automatic:
                raise ValueError(
                    "--ratio needs --automatic, the trees to mix in. "
                    f"Received: --ratio={self.ratio:g} alone"
                )
        if self.leaves is not None:
            check_choice("leaves", self.leaves, LEAVES)
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
        """Returns whether any text comes from TensorFlow Datasets; by default, in table2 only."""
        return bool(self.tfds) or (self.table == "table2" and not self.has_text)


def settings():
    """Returns all fields of `Plan` except `table`."""
    return [field for field in dataclasses.fields(Plan) if field.name != "table"]


def flag(name):
    """Returns the flag for a setting of the plan."""
    return "--config" if name == "overrides" else f"--{name}"
