"""A model that translates text by a Python function, with the signatures of a SavedModel.

It has no signature for attention weights or scores. This file does not load TensorFlow.
"""

import numpy as np

from t2t_keras.export.signature_constants import NO_SCORE, OPTIONS
from t2t_keras.serving.search_options import SEARCH, check_search
from t2t_keras.serving.signatures import Signature, tensor_info, warm_up
from t2t_keras.serving.tensors import Spec
from t2t_keras.translating.sentences import on_one_line

TEXTS = Spec("string", (None,))


class TextModel:
    """A loaded model.

    Args:
        translator: function from search settings to an object whose `translate` returns lists of
            `Translation`s for a list of texts, best first.
        config: the `SearchConfig` with the default search. Its beam is the widest one.
        split: whether texts are split into sentences by default.
        split_code: see `with_codes`. None: the model has no language codes.
    """

    def __init__(self, translator, config, split=True, split_code=None):
        self.translator, self.config = translator, config
        self.default = translator(n_best=config.n_best)
        self.shapes = None  # nothing is compiled
        self.wishes, self.split_code = None, split_code
        options = {
            "alpha": Spec("float32", (None,), config.alpha),
            "beam": Spec("int32", (None,), config.beam),
            "n_best": Spec("int32", (None,), 1),
            "split": Spec("bool", (None,), split),
            "text": TEXTS,
        }
        signatures = (
            ("serving_default", {"text": TEXTS}, (None,), self.best),
            ("translate_n_best", {"text": TEXTS}, (None, config.n_best), self.n_best),
            (OPTIONS, options, (None, config.beam), self.with_options),
        )
        self.signatures = {
            name: Signature(name, inputs, outputs_of(shape), True, run)
            for name, inputs, shape, run in signatures
        }
        self.metadata = {name: metadata_of(each) for name, each in self.signatures.items()}

    def warm_up(self):
        warm_up(self.signatures)

    def best(self, inputs):
        """Returns the best translation of each text and its score."""
        return {name: array[:, 0] for name, array in self.n_best(inputs).items()}

    def n_best(self, inputs):
        """Returns the n best translations of each text and their scores."""
        texts = inputs["text"].tolist()
        return as_arrays(self.default.translate(texts), self.config.n_best)

    def with_options(self, inputs):
        """Returns the translations of each text with its own options. Texts are not split here."""
        texts, widest = inputs["text"].tolist(), self.config.beam
        options = list(zip(*(inputs[name].tolist() for name in SEARCH), strict=True))
        check_search(inputs, widest)
        results = [None] * len(texts)
        for each in set(options):
            rows = [row for row, of_row in enumerate(options) if of_row == each]
            translator = self.translator(**dict(zip(SEARCH, each, strict=True)))
            for row, found in zip(
                rows, translator.translate([texts[row] for row in rows]), strict=True
            ):
                results[row] = found
        return as_arrays(results, widest)


def outputs_of(shape):
    """Returns the outputs of a signature that translates."""
    return {"scores": Spec("float32", shape), "translations": Spec("string", shape)}


def as_arrays(results, count):
    """Returns lists of `Translation`s as arrays with `count` translations of each text."""
    translations = np.full((len(results), count), b"", object)
    scores = np.full((len(results), count), NO_SCORE, "float32")
    for row, found in enumerate(results):
        for rank, each in enumerate(found):
            translations[row, rank], scores[row, rank] = on_one_line(each.text).encode(), each.score
    return {"translations": translations, "scores": scores}


def metadata_of(signature):
    """Returns a signature in the form of TensorFlow Serving's metadata."""
    inputs, outputs = (
        {name: tensor_info(name, spec) for name, spec in specs.items()}
        for specs in (signature.inputs, signature.outputs)
    )
    method = "tensorflow/serving/predict"
    specs = signature.inputs.items()
    defaults = {name: spec.default for name, spec in specs if spec.default is not None}
    return {"inputs": inputs, "outputs": outputs, "method_name": method, "defaults": defaults}
