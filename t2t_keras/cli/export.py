"""t2t-export: makes of a trained run what others can serve without this package.

t2t-export runs/ende                       a SavedModel, text in and text out: runs/ende/export/1
t2t-export runs/ende --dtype=int8          the same, a quarter as large: runs/ende/export/2
t2t-export runs/ende --ids_only            ids in and out, without tensorflow_text's operations
t2t-export runs/ende --format=ctranslate2  a folder for CTranslate2
t2t-export runs/ende --format=keras        one .keras file for keras.saving.load_model
t2t-export runs/ende --beam=1 --output=served/ende

Each SavedModel gets the next number in its folder, and gets it when it is whole, so that a server
that watches the folder never sees a part of one. How translations are searched for is decided
here: beam, penalty and what else t2t-translate has flags for. The weights are the averaged ones
if there are any; --weights says otherwise.
"""

import dataclasses
import shutil
from pathlib import Path

from absl import flags

from pipelines.tokenizers import MARKS
from pipelines.whole import only_one, read_json, whole_folder, write_json
from t2t_keras.cli.main import run
from t2t_keras.cli.runs import Run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.export.compact_weights import KINDS
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.saved_model import save_ids_model, save_text_model

OUTPUT = flags.DEFINE_string("output", None, "Where to write. None: into the run's folder.")
FORMAT = flags.DEFINE_enum(
    "format", "saved_model", ("saved_model", "keras", "ctranslate2"), "What to write."
)
DTYPE = flags.DEFINE_enum("dtype", "float32", KINDS, "How the weights are stored.")
FORCE = flags.DEFINE_bool("force", False, "ctranslate2: replace what was exported before.")
IDS_ONLY = flags.DEFINE_bool("ids_only", False, "Take and give ids instead of text.")
N_BEST = flags.DEFINE_integer("n_best", None, "Of translate_n_best. None: as many as --beam.")


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(f"takes one run's folder. Received: {' '.join(arguments) or 'none'}")
    target = Run(arguments[0])
    target.experiment()  # says what is wrong with the folder
    print(EXPORTS[FORMAT.value](target))


def export_saved_model(target):
    """Writes the next version of a SavedModel and returns its folder."""
    tokenizer = target.tokenizer()
    config = search_config(target.experiment().search, tokenizer)
    config = dataclasses.replace(config, n_best=N_BEST.value or config.beam)
    config.validate()
    folder = Path(OUTPUT.value or target.folder / ("export_ids" if IDS_ONLY.value else "export"))
    return save_version(target, folder, config, WEIGHTS.value, DTYPE.value, IDS_ONLY.value)


def save_version(target, folder, config, weights=None, dtype="float32", ids_only=False):
    """Writes the next version of a run's SavedModel.

    Args:
        target: a `Run`.
        folder: where versions 1, 2, … stand.
        config: the `SearchConfig`.
        weights: which of the run's.
        dtype: how they are stored.
        ids_only: take ids and not text.

    Returns:
        The version's folder.
    """
    model, tokenizer = target.model(weights), target.tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        version = folder / str(max(versions(folder), default=0) + 1)
        with whole_folder(version) as unfinished:
            if ids_only:
                save_ids_model(unfinished, model, config, dtype)
            else:
                pieces = [
                    MARKS.get(id, piece)
                    for id, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))
                ]
                save_text_model(
                    *(unfinished, model, config, tokenizer.in_graph(), pieces),
                    *(tokenizer.begins_word, dtype),
                )
            shutil.copytree(target.folder / "vocabulary", unfinished / "vocabulary")
            settings = read_json(target.config_file)
            settings["export"] = {"search": dataclasses.asdict(config), "dtype": dtype}
            write_json(unfinished / "config.json", settings)
    return version


def versions(folder):
    """The numbers of the versions in a folder."""
    return [int(path.name) for path in Path(folder).iterdir() if path.name.isdecimal()]


def export_keras(target):
    """Writes the model as one file, which Keras loads where t2t_keras is installed."""
    path = Path(OUTPUT.value or target.folder / "model.keras")
    if path.suffix != ".keras":
        raise ValueError(f"--output={path}: the name of a Keras file ends with .keras")
    unfinished = path.with_name(f"{path.stem}.unfinished.keras")
    target.model(WEIGHTS.value).save(unfinished)
    unfinished.replace(path)
    return path


def export_ctranslate2(target):
    """Writes a folder for CTranslate2, in which the SentencePiece model lies too."""
    tokenizer = target.tokenizer()
    folder = Path(OUTPUT.value or target.folder / "export_ctranslate2")
    save_ctranslate2(
        target.model(WEIGHTS.value),
        tokenizer.pieces(range(tokenizer.size)),
        folder,
        quantization=DTYPE.value,
        files=[target.folder / "vocabulary" / tokenizer.file],
        force=FORCE.value,
    )
    return folder


EXPORTS = {
    "saved_model": export_saved_model,
    "ctranslate2": export_ctranslate2,
    "keras": export_keras,
}


def entry():
    run(main)


if __name__ == "__main__":
    entry()
