"""A model that translates text by a Python function, with the signatures of a SavedModel.

It has no signature for attention weights or scores. This file does not load TensorFlow.
"""

import numpy as np

from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.serving.signatures import Signature, warm_up
from t2t_keras.serving.tensors import Spec

TYPES = {"string": "DT_STRING", "float32": "DT_FLOAT"}
TEXTS = Spec("string", (None,))


class TextModel:
    """A loaded model.

    Args:
        translate: function from a list of texts to lists of `Translation`s, best first.
        n_best: maximum number of translations of a text.
    """

    def __init__(self, translate, n_best):
        self.translate, self.count = translate, n_best
        self.shapes = None  # nothing is compiled
        best = {"scores": Spec("float32", (None,)), "translations": TEXTS}
        lists = {name: Spec(spec.dtype, (None, n_best)) for name, spec in sorted(best.items())}
        self.signatures = {
            name: Signature(name, {"text": TEXTS}, outputs, True, run)
            for name, outputs, run in (
                ("serving_default", best, self.best),
                ("translate_n_best", lists, self.n_best),
            )
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
        translations = np.full((len(texts), self.count), b"", object)
        scores = np.full((len(texts), self.count), NO_SCORE, "float32")
        for row, found in enumerate(self.translate(texts)):
            for rank, each in enumerate(found):
                line = each.text.replace("\r", " ").replace("\n", " ")
                translations[row, rank], scores[row, rank] = line.encode(), each.score
        return {"translations": translations, "scores": scores}


def metadata_of(signature):
    """Returns a signature in the form of TensorFlow Serving's metadata."""
    inputs, outputs = (
        {name: tensor_info(name, spec) for name, spec in specs.items()}
        for specs in (signature.inputs, signature.outputs)
    )
    method = "tensorflow/serving/predict"
    return {"inputs": inputs, "outputs": outputs, "method_name": method, "defaults": {}}


def tensor_info(name, spec):
    axes = [{"size": str(-1 if size is None else size), "name": ""} for size in spec.shape]
    shape = {"dim": axes, "unknown_rank": False}
    return {"dtype": TYPES[spec.dtype], "tensor_shape": shape, "name": name}
