"""tensor2tensor's files next to a checkpoint: settings and sub-words."""

import contextlib
import json

from t2t_keras.checks import check_integer
from t2t_keras.importing.accompanying_files import read_json_file, read_lines

# {set of hparams in flags.txt: number of heads}. The checkpoint shows all other settings.
HEADS = {
    **dict.fromkeys(("base_v1", "base_v2", "base_v3", "base", "base_single_gpu"), 8),
    **dict.fromkeys(("n_da", "parsing_base"), 8),
    **dict.fromkeys(("big", "big_single_gpu", "big_enfr", "parsing_big"), 16),
    **dict.fromkeys(("small", "tiny"), 4),
    "test": 2,
}


def read_hparams(folder):
    """Returns the settings in hparams.json, or the settings that flags.txt implies."""
    flags = read_flags(folder / "flags.txt")
    model = flags.get("model", "transformer")
    if model != "transformer":
        raise ValueError(
            f"{folder}/flags.txt has model={model}. Only tensor2tensor's model `transformer` is "
            "imported"
        )
    hparams = read_json_file(folder / "hparams.json", None)
    if hparams is not None:
        return hparams
    if not flags:
        raise ValueError(
            f"{folder} has neither hparams.json nor flags.txt. Copy them from the folder in which "
            "the model was trained"
        )
    overrides = {}
    for setting in filter(None, flags.get("hparams", "").split(",")):
        name, _, value = map(str.strip, setting.partition("="))
        overrides[name] = value
        with contextlib.suppress(ValueError):  # a number or a boolean
            overrides[name] = json.loads(value.lower())
    name = flags.get("hparams_set", "")
    heads = HEADS.get(name.removeprefix("transformer_"))
    if heads is None and "num_heads" not in overrides:
        raise ValueError(
            f"{folder}/flags.txt has hparams_set={name}, which is not known here. Add its heads "
            "to the line --hparams=, such as --hparams=num_heads=8"
        )
    return {"num_heads": heads} | overrides


def read_flags(path):
    """Returns {name: value} of lines such as --model=transformer, or {} if there is no file."""
    if not path.exists():
        return {}
    lines = path.read_text("utf-8", "replace").split("\n")
    pairs = (line.strip().removeprefix("--").partition("=") for line in lines)
    return {name: value for name, sign, value in pairs if sign}


def read_vocabularies(folder, source_rows, target_rows, divisor):
    """Returns the pieces of source and target, ordered by id; one list if they are shared.

    `divisor` divides the numbers of rows of the matrices. Additional rows have empty pieces.
    """
    files = {path: read_subwords(path, divisor) for path in sorted(folder.glob("*.subwords*"))}
    sides = []
    for side, rows in (("source", source_rows), ("target", target_rows)):
        fitting = [path for path, pieces in files.items() if len(pieces) == rows]
        named = folder / f"vocab.{side}.subwords"
        if named not in fitting and len(fitting) != 1:
            found = ", ".join(f"{path.name} ({len(pieces):,})" for path, pieces in files.items())
            raise ValueError(
                f"{folder} must have the sub-word file of the model's data folder, with {rows:,} "
                "pieces, or two files vocab.source.subwords and vocab.target.subwords. It has: "
                f"{found or 'none'}"
            )
        sides.append(files[named if named in fitting else fitting[0]])
    return sides


def rows_of_sides(folder, divisor):
    """Returns {side: number of rows of its matrix} for sides with a separate file."""
    paths = {side: folder / f"vocab.{side}.subwords" for side in ("source", "target")}
    return {
        side: len(read_subwords(path, divisor)) for side, path in paths.items() if path.exists()
    }


def read_subwords(path, divisor):
    """Returns the pieces in a sub-word file: one piece per line, possibly in quotes."""
    check_integer("vocab_divisor", divisor)
    pieces = []
    for line in map(str.rstrip, read_lines(path)):
        in_quotes = len(line) > 1 and line[0] == line[-1] and line[0] in "'\""
        pieces.append(line[1:-1] if in_quotes else line)
    return pieces + [""] * (-len(pieces) % divisor)
