"""A model that translates by a Python function has the options of a SavedModel."""

import numpy as np
import pytest

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_constants import NO_SCORE, OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.text_model import TextModel
from t2t_keras.translating.translator import Translation


class Translator:
    def __init__(self, **search):
        self.search = search

    def translate(self, texts):
        marks = " ".join(f"{name}={value:g}" for name, value in self.search.items())
        return [
            [
                Translation(f"{text.decode()} {marks}\n", -rank, [])
                for rank in range(self.search["n_best"])
            ]
            for text in texts
        ]


@pytest.fixture
def model():
    return TextModel(Translator, SearchConfig(beam=3, n_best=2))


def options(texts, **values):
    inputs = {"text": np.array([text.encode() for text in texts], object)}
    return inputs | {name: np.array(value) for name, value in values.items()}


def test_each_text_is_translated_with_its_own_options(model):
    signature = model.signatures[OPTIONS]
    inputs = options("abc", beam=[1, 3, 1], n_best=[1, 2, 1], alpha=[0.5, 1, 0.5], split=[True] * 3)
    outputs = signature.run(inputs)
    narrow, wide = "beam=1 n_best=1 alpha=0.5 ", "beam=3 n_best=2 alpha=1 "
    expected = [[f"a {narrow}", "", ""], [f"b {wide}", f"b {wide}", ""], [f"c {narrow}", "", ""]]
    assert [[text.decode() for text in row] for row in outputs["translations"]] == expected
    assert outputs["scores"][1].tolist() == [0, -1, NO_SCORE]
    assert signature.translates and signature.inputs["beam"].default == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beam": [4]}, "`beam` must be from 1 to 3. Received: 4"),
        ({"n_best": [3]}, "`n_best` must be at least 1 and at most the beam. Received: 3"),
        ({"alpha": [-1.0]}, "`alpha` must be finite and at least 0. Received: -1"),
    ],
)
def test_wrong_options_are_refused(model, change, message):
    inputs = options("a", **({"beam": [2], "n_best": [1], "alpha": [0.6]} | change))
    with pytest.raises(Refusal, match=message):
        model.signatures[OPTIONS].run(inputs)


def test_metadata_has_the_defaults(model):
    model.warm_up()
    assert model.metadata[OPTIONS]["defaults"] == {
        "alpha": 0.6,
        "beam": 3,
        "n_best": 1,
        "split": True,
    }
    assert model.metadata[OPTIONS]["inputs"]["beam"]["dtype"] == "DT_INT32"
