"""The text that a table is reproduced on: files, what t2t-prepare made, or the toy grammar."""

from pathlib import Path
from typing import NamedTuple

from absl import flags

from pipelines.sources import find_files
from pipelines.toy_grammar import pairs
from pipelines.whole import read_json
from t2t_keras.cli.reproductions.stages import Stages

SOURCE = flags.DEFINE_string("source", None, "Text to train on: as for t2t-prepare.")
TARGET = flags.DEFINE_string("target", None, "Its translation.")
DATA = flags.DEFINE_string("data", None, "What t2t-prepare made, instead.")
DEV_SOURCE = flags.DEFINE_string("dev_source", None, "Text to evaluate on: the source.")
DEV_TARGET = flags.DEFINE_string("dev_target", None, "Its translation.")


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


def check_text(needed=True):
    """Checks the flags that say where the text is; returns whether there are any."""
    for one, other in ((SOURCE, TARGET), (DEV_SOURCE, DEV_TARGET)):
        if bool(one.value) != bool(other.value):
            raise ValueError(
                f"--{one.name} and --{other.name} go together. Received: {one.value} and "
                f"{other.value}"
            )
    ways = bool(SOURCE.value) + bool(DATA.value)
    if ways > 1 or (needed and not ways):
        raise ValueError(
            "Say where the text is, in one way: --source=FILE and --target=FILE, or --data=FOLDER"
        )
    return bool(ways)


def prepare_text(folder, name, recipe, source, target):
    """Encodes text files, unless that was done."""
    stages, data = Stages(folder, name), folder / "data"
    stages.do(
        *("prepare", "prepare"),
        [*recipe.flags("data"), f"--source={source}", f"--target={target}", f"--output={data}"],
        creates=data / "report.json",
        reads=[*find_files("source", source), *find_files("target", target)],
    )
    return Prepared(data, stages)


def given_data(folder, name):
    """What t2t-prepare made, as it is."""
    report = Path(DATA.value) / "report.json"
    if not report.exists():
        raise ValueError(f"{DATA.value} holds no finished data: t2t-prepare makes it")
    stages = Stages(folder, name)
    stages.history.append(["data", DATA.value, read_json(report)])
    return Prepared(Path(DATA.value), stages)


def toy_text(folder, count):
    """The toy grammar as files: source, target, and those of its combinations held out."""
    paths = [folder / f"{name}.{side}" for name in ("train", "dev") for side in ("en", "de")]
    for files, (number, split) in ((paths[:2], (count, "train")), (paths[2:], (300, "test"))):
        for path, lines in zip(files, zip(*pairs(number, split), strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths
