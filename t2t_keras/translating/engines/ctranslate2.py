"""The engine of a CTranslate2 folder that t2t-export wrote.

Neither this module nor its imports load TensorFlow or Keras, so a command translates the first line
after little more than a second.
"""

import numpy as np

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.rows import BEGIN, PADDING, Rows
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.ctranslate2_package import UNKNOWN, import_ctranslate2
from t2t_keras.processor import cores
from t2t_keras.translating.engines.ctranslate2_search import (
    CTranslate2Search,
    Pieces,
    attention,
    log_p,
)
from t2t_keras.translating.engines.engine import Engine
from t2t_keras.translating.exports import EXPORT_AGAIN

FORBIDDING = ("banned", "first", "no_repeat_ngram", "constrain")  # settings that forbid tokens


class CTranslate2Engine(Engine):
    """Translates with CTranslate2.

    The results are those of `BeamSearch`, with the exceptions in `export/README.md`.

    Args:
        folder: path of the folder.
    """

    kind = "ctranslate2"
    batch_tokens = 1024  # CTranslate2 keeps the caches of all beams at once
    offers = tuple(name for name in ROW_OPTIONS if name not in FORBIDDING)

    def __init__(self, folder):
        self.open(folder)
        self.pieces = Pieces(self.tokenizer)
        self.translator = load_ctranslate2(self.folder)

    def check(self, config, prefix, phrases):
        check_search(config, phrases)

    def warm_up(self):
        self.search(Rows(np.array([[3, 2]], "int32"), [0]))

    def search(self, rows):
        search = CTranslate2Search(self.translator, self.pieces, self.config, self.longest)
        return search(rows)

    def log_p(self, source, target):
        sides = [[row[row != PADDING] for row in ids] for ids in (source, target)]
        found = log_p(self.translator, self.pieces, *sides)
        return stacked(found, target.shape[1:])

    def attention(self, source, target):
        weights = []
        for row in zip(source, target, strict=True):
            row = (ids[ids != PADDING] for ids in row)
            weights.append(attention(self.translator, self.pieces, *row))
        if (self.record["alignment"] or {}).get("shifted"):
            weights = [np.concatenate([each[1:], each[-1:]]) for each in weights]
        return stacked(weights, (target.shape[1], source.shape[1]))

    def close(self):
        self.translator.unload_model()


def check_search(config, phrases=False):
    """Rejects a search whose results CTranslate2 cannot reproduce exactly.

    Args:
        config: the `SearchConfig`.
        phrases: whether translations must contain phrases.
    """
    if phrases:
        raise ValueError(
            "this model cannot search for required phrases: --glossary and --require do not work "
            "with CTranslate2. Give the run"
        )
    if config.method == "sample":
        raise ValueError(
            "--sample does not work with CTranslate2, which draws other random numbers. "
            "Give the run"
        )
    if config.method != "beam":
        raise ValueError(
            f"--method={config.method} does not work with CTranslate2, which has beam search only. "
            "Give the run"
        )
    allowed = {PADDING, BEGIN, UNKNOWN}  # these can be banned
    for name in FORBIDDING:
        value = getattr(config, name)
        if set(value) - allowed if name == "banned" else value:
            raise ValueError(
                f"--{name} does not work with CTranslate2: it divides the probability of forbidden "
                "tokens among the others, so its search finds other translations. Give the run"
            )


def load_ctranslate2(folder):
    """Returns the `ctranslate2.Translator` of a folder, which uses all cores of this process."""
    ctranslate2 = import_ctranslate2("Translating with a CTranslate2 folder")
    try:
        return ctranslate2.Translator(str(folder), device="cpu", intra_threads=cores())
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ValueError(
            f"{folder} cannot be loaded by CTranslate2 ({error}). {EXPORT_AGAIN}"
        ) from error
