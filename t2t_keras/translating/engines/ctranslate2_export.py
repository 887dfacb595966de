"""A folder for CTranslate2, written by t2t-export, as an engine that translates text.

This file and its imports load neither TensorFlow nor Keras, so a command with such a folder needs
little more than a second for its first line.
"""

import hashlib
from pathlib import Path

from pipelines.tokenizers import load_tokenizer
from pipelines.whole import read_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.ctranslate2_search import CTranslate2Search, check_search, load_ctranslate2
from t2t_keras.export.replacement import restore
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.splitting import best_of
from t2t_keras.translating.translator import Translator

RECORD = "export.json"  # record in exports that have no config.json of the run
EXPORT_AGAIN = "Export the run again with t2t-export --format=ctranslate2 --force"
# A batch has at most so many rows × width: CTranslate2 keeps the caches of all beams at once.
BATCH_TOKENS = 1024


def is_ctranslate2(folder):
    """Returns whether a folder contains a CTranslate2 model, or what is left of one.

    A folder whose replacement was interrupted is restored.
    """
    folder = Path(folder)
    restore(folder)
    if (folder / "model.bin").exists():
        return True
    return (folder / RECORD).exists() and not (folder / "saved_model.pb").exists()


def digests_in(folder):
    """Returns {name: SHA-256} for the files in a folder without subfolders."""
    digests = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with open(path, "rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


class CTranslate2Export:
    """A CTranslate2 folder that t2t-export wrote. Its search is ours; see `export/README.md`.

    Args:
        folder: path of the folder.

    Example:

        CTranslate2Export("runs/mine/export_ctranslate2").translate(["The dog sleeps."], beam=8)
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        restore(self.folder)  # if its replacement was interrupted
        self.record = read_record(self.folder)
        try:
            self.config = SearchConfig(**self.record["search"])
            self.config.validate()
            self.longest = self.record["longest"]
        except (KeyError, TypeError, ValueError) as error:
            raise unusable(self.folder, f"{RECORD}: {error}") from error
        self.split = self.record.get("split", True)
        self.tokenizer = load_tokenizer(self.folder)
        self.engine = load_ctranslate2(self.folder)

    def digest(self):
        """Returns the digests of the weights and of all files."""
        return {name: self.record[name] for name in ("weights", "files")}

    def search(self, n_best=None, **changes):
        """Returns the `SearchConfig` of the export with changes; `n_best` is 1 by default."""
        config = search_config(self.config, self.tokenizer, n_best=n_best or 1, **changes)
        check_search(config)
        return config

    def translator(self, **search):
        """Returns a `Translator`; `**search` changes fields of the export's `SearchConfig`."""
        source, target = self.tokenizer.source, self.tokenizer.target
        pieces = [side.pieces(range(side.size)) for side in (source, target)]
        decode = CTranslate2Search(self.engine, *pieces, self.search(**search), self.longest)
        return Translator(self.tokenizer, decode, BATCH_TOKENS, self.longest)

    def translate(self, texts, weights=None, on_progress=lambda count: None, split="off", **search):
        """Returns the best translation of each text; arguments as in `TrainedModel.translate`."""
        if weights is not None:
            raise ValueError(f"--weights: t2t-export fixed the weights of {self.folder}")
        return best_of(self.translator(n_best=1, **search), texts, on_progress, split)


def read_record(folder):
    """Returns the record of a CTranslate2 folder after verifying the digests of its files."""
    record = read_json(folder / RECORD, remedy=EXPORT_AGAIN)
    if record is None:
        raise unusable(folder, f"it has no {RECORD}, which t2t-export writes")
    if not isinstance(record.get("files"), dict) or "search" not in record:
        raise unusable(folder, "it was written by an earlier version, without search settings")
    found = digests_in(folder)
    for name, digest in record["files"].items():
        if name not in found:
            raise unusable(folder, f"{name} is missing")
        if found[name] != digest:
            raise unusable(folder, f"{name} does not match its SHA-256 in {RECORD}")
    return record


def unusable(folder, reason):
    return ValueError(f"{folder} cannot be used: {reason}. {EXPORT_AGAIN}")
