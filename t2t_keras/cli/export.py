"""t2t-export: makes of a trained run what others can serve without this package.

t2t-export runs/ende                       a SavedModel, text in and text out: runs/ende/export/1
t2t-export runs/ende --dtype=int8          the same, a quarter as large: runs/ende/export/2
t2t-export runs/ende --ids_only            ids in and out, without tensorflow_text's operations
t2t-export runs/ende --format=ctranslate2  a folder for CTranslate2
t2t-export runs/ende --format=keras        one .keras file for keras.saving.load_model
t2t-export runs/ende --beam=1 --output=served/ende

Each SavedModel gets the next number in its folder, and gets it when it is whole, so that a server
that watches the folder never sees a part of one. How a SavedModel searches is decided here, by
flags of t2t-translate: --beam, --alpha, --extra_length, --banned, --first, --no_repeat_ngram. It
cannot sample. The weights are the averaged ones if there are any; --weights says otherwise.
"""

import dataclasses
from pathlib import Path

from absl import flags

from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.dtypes import SAVED_MODEL_DTYPES
from t2t_keras.runs.exports import save_version
from t2t_keras.runs.run import Run

OUTPUT = flags.DEFINE_string("output", None, "Where to write. None: into the run's folder.")
FORMAT = flags.DEFINE_enum(
    "format", "saved_model", ("saved_model", "keras", "ctranslate2"), "What to write."
)
DTYPE = flags.DEFINE_enum("dtype", "float32", SAVED_MODEL_DTYPES, "How the weights are stored.")
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
