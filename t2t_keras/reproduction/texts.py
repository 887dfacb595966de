"""The text of a table: files, a TensorFlow data set, what t2t-prepare made, the toy grammar."""

import re
from pathlib import Path
from typing import NamedTuple

from absl import flags

from pipelines.sources import find_files
from pipelines.toy_grammar import pairs
from pipelines.whole import read_json
from t2t_keras.checks import check_choice
from t2t_keras.reproduction.stages import Stages
from t2t_keras.runs.lines import check_line_counts, read_lines

ROWS = flags.DEFINE_list("rows", None, "table2, table3: which rows of the table. None: all.")
SOURCE = flags.DEFINE_string("source", None, "Text to train on: as for t2t-prepare.")
TARGET = flags.DEFINE_string("target", None, "Its translation.")
DATA = flags.DEFINE_string("data", None, "What t2t-prepare made, instead.")
DEV_SOURCE = flags.DEFINE_string("dev_source", None, "Text to evaluate on: the source.")
DEV_TARGET = flags.DEFINE_string("dev_target", None, "Its translation.")
TFDS = flags.DEFINE_string("tfds", None, "A TensorFlow data set, or its folder. None: WMT 2014.")
DATA_DIR = flags.DEFINE_string("data_dir", None, "Where TFDS keeps prepared data sets.")


class Prepared(NamedTuple):
    """Encoded text to train on.

    Args:
        folder: of the encoded text.
        stages: what was done to make it.
    """

    folder: Path
    stages: Stages

    @property
    def pairs(self):
        return read_json(self.folder / "report.json")["counts"]["kept"]


def chosen_rows(rows, names):
    """The rows that are named, or all."""
    for name in names or []:
        check_choice("rows", name, rows)
    return names or list(rows)


def check_text():
    """Checks the flags that say where the text is; returns whether there are any."""
    for one, other in ((SOURCE, TARGET), (DEV_SOURCE, DEV_TARGET)):
        if bool(one.value) != bool(other.value):
            raise ValueError(
                f"--{one.name} and --{other.name} go together. Received: {one.value} and "
                f"{other.value}"
            )
    ways = [flag for flag in (SOURCE, DATA, TFDS) if flag.value]
    if len(ways) > 1:
        raise ValueError(
            "Say where the text is, in one way: --source=FILE and --target=FILE, --data=FOLDER or "
            f"--tfds=NAME. Received: {', '.join(f'--{flag.name}' for flag in ways)}"
        )
    for flag in (SOURCE, TARGET):
        if flag.value:
            find_files(flag.name, flag.value)
    if DEV_SOURCE.value:
        check_lines("dev", DEV_SOURCE.value, DEV_TARGET.value)
    return bool(ways)


def check_lines(name, source, target):
    """Refuses a text to measure on that could not be measured on, before anything is trained."""
    for side, path in (("source", source), ("target", target)):
        if not Path(path).is_file() or Path(path).suffix == ".gz":
            raise ValueError(f"--{name}_{side} must name plain text files. Received: {path}")
    sides = [read_lines(path) for path in (source, target)]
    check_line_counts(**dict(zip((f"{name}_source", f"{name}_target"), sides, strict=True)))
    if not sides[0]:
        raise ValueError(f"--{name}_source: {source} is empty")


def prepare(folder, name, recipe, source, reads=()):
    """Encodes text, unless that was done.

    Args:
        source: flags of t2t-prepare that say where it is.
        reads: the files, if it is in files.
    """
    stages, data = Stages(folder, name), folder / "data"
    stages.do(
        stage="prepare",
        command="prepare",
        arguments=[*recipe.data_flags(), *source, f"--output={data}"],
        creates=data / "report.json",
        reads=reads,
    )
    return Prepared(data, stages)


def prepare_files(folder, name, recipe, source, target):
    reads = [*find_files("source", source), *find_files("target", target)]
    return prepare(folder, name, recipe, [f"--source={source}", f"--target={target}"], reads)


def prepare_tfds(folder, name, recipe, data_set, languages):
    source = [f"--tfds={data_set}", f"--languages={','.join(languages)}"]
    if DATA_DIR.value:
        source.append(f"--data_dir={DATA_DIR.value}")
    return prepare(folder, name, recipe, source)


def tfds_text(folder, data_set, languages, split):
    """A split as two files, which it becomes only once."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{re.sub(r'[^0-9A-Za-z]+', '_', data_set)}-{split}"
    paths = [folder / f"{name}.{language}" for language in languages]
    if not all(path.exists() for path in paths):
        from pipelines.tfds_source import TfdsPairs  # takes seconds to load

        pairs = TfdsPairs(data_set, languages, split, DATA_DIR.value)
        for path, texts in zip(paths, zip(*pairs, strict=True), strict=True):
            unfinished = path.with_name(f"{path.name}.unfinished")
            unfinished.write_bytes(b"".join(b" ".join(t.split()) + b"\n" for t in texts))
            unfinished.rename(path)
    return paths


def given_data(folder, name, data):
    """What t2t-prepare made, as it is."""
    report = read_json(Path(data) / "report.json")
    if report is None:
        raise ValueError(f"{data} holds no finished data: t2t-prepare makes it")
    stages = Stages(folder, name)
    stages.history.append([data, report])
    return Prepared(Path(data), stages)


def toy_text(folder, count):
    """The toy grammar as files: source, target, and those of its combinations held out."""
    paths = [folder / f"{name}.{side}" for name in ("train", "dev") for side in ("en", "de")]
    for files, (number, split) in ((paths[:2], (count, "train")), (paths[2:], (300, "test"))):
        for path, lines in zip(files, zip(*pairs(number, split), strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths
