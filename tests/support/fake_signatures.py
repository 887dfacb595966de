"""The signatures of a SavedModel as a Python function, and the settings of its folder."""

import dataclasses

import numpy as np

from pipelines.whole import write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_constants import NO_SCORE

NAMES = (
    *("translate_n_best", "translate_with_options", "score", "score_pieces"),
    *("attention", "align"),
)
CONFIG = SearchConfig(beam=4, n_best=2)


class FakeSignatures:
    """Translates a text to capitals, after its prefix and before its phrases.

    The weights of words are those of the opposite order. The k-th piece has the probability 1 / k.
    """

    def __init__(self, tokenizer):
        self.tokenizer, self.asked = tokenizer, []

    def __call__(self, name, inputs):
        assert all(isinstance(each, np.ndarray) for each in inputs.values())
        self.asked.append((name, {key: each.tolist() for key, each in inputs.items()}))
        return getattr(self, name)(**inputs)

    def translate_n_best(self, text):
        return self.translate_with_options(text, n_best=np.full(len(text), 2), width=2)

    def translate_with_options(self, text, n_best, prefix=None, require=None, width=4, **options):
        assert not np.any(options.get("split", False)), "sentences are split before"
        rows, scores = [], np.full((len(text), width), NO_SCORE, "float32")
        for row, each in enumerate(text):
            start = [prefix[row]] if prefix is not None and prefix[row] else []
            phrases = require[row].split(b"\t") if require is not None and require[row] else []
            best = b" ".join([*start, each.upper(), *phrases])
            rows.append([best, *[b"other"] * (n_best[row] - 1), *[b""] * (width - n_best[row])])
            scores[row, : n_best[row]] = -len(each)
        return {"translations": np.array(rows, object), "scores": scores}

    def align(self, text, translation):
        sizes = [self.pieces(each, 1) for each in (translation, text)]
        return {"weights": np.eye(*sizes)[None, ::-1]}

    def score_pieces(self, text, translation):
        longest = max(self.pieces([each], 1) for each in translation)
        log_p = -np.log(np.tile(np.arange(1, longest + 1), (len(text), 1)))
        return {"target_pieces": None, "log_probabilities": log_p.astype("float32")}

    def pieces(self, texts, more):
        return len(self.tokenizer.encode([texts[0]])[0]) + more


def write_config(folder, config=CONFIG, **model):
    model = {"positions": "sinusoidal", "max_length": 1024, "position_offset": 0, **model}
    export = {"search": dataclasses.asdict(config)}
    write_json(folder / "config.json", {"experiment": {"model": model}, "export": export})
