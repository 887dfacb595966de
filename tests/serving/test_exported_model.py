"""A served export of a small run gives rows what they ask for, as the export itself does."""

import pytest
from support.serving.served_engine import predictions

from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.models import ServedSavedModel
from t2t_keras.translating.exports import versions_in
from t2t_keras.translating.translator import Translator

pytestmark = pytest.mark.long
TEXT = "The dog sleeps. The cat sleeps!"
TRANSLATING = {"serving_default", "translate_n_best", OPTIONS}


@pytest.fixture(scope="module")
def model(exported_toy_run):
    (version,) = versions_in(exported_toy_run[1] / "export").values()
    return ServedSavedModel(version)


def test_the_signatures_that_translate_are_those_of_the_engine(model):
    assert model.translations.signatures.keys() == TRANSLATING
    assert model.signatures.keys() >= {"score", "attention"}
    assert not model.signatures.keys() & TRANSLATING
    assert model.metadata.keys() >= TRANSLATING | model.signatures.keys()
    assert model.engine.name == "this model"
    for name, signature in model.translations.signatures.items():
        described = model.metadata[name]
        assert described["inputs"].keys() == signature.inputs.keys()
        sizes = {
            key: [int(axis["size"]) for axis in output["tensor_shape"]["dim"]]
            for key, output in described["outputs"].items()
        }
        assert sizes == {
            key: [-1 if size is None else size for size in spec.shape]
            for key, spec in signature.outputs.items()
        }


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1.25, "n_best": 2},
        {"prefix": "Ein", "beam": 1},
        {"require": [["Hund"]], "confidence": True, "alignments": True},
        {"glossary": {"dog": "Hund"}, "markup": "xml"},
    ],
)
def test_the_answer_is_that_of_the_export(model, options):
    (expected,) = Translator(model.engine).translations([TEXT], **options)
    given = {"require": "Hund", "glossary": "dog\tHund"}
    row = {"text": TEXT} | options | {key: given[key] for key in given if key in options}
    (answer,) = predictions(row, engine=model)
    count = options.get("n_best", 1)
    assert answer["translations"][:count] == [each.text for each in expected]
    if "confidence" in options:
        rated, links = answer["confidence"][0].split(), answer["alignments"][0].split()
        assert [float(each) for each in rated] == pytest.approx(expected[0].confidence, abs=1e-3)
        assert links == [f"{i}-{j}" for i, j in expected[0].alignment]
        assert len(answer["words"][0].split()) == len(rated)
    scores = [each.score for each in expected]
    assert answer["scores"][:count] == pytest.approx(scores, rel=1e-4)


def test_phrases_need_the_exported_beam(model):
    with pytest.raises(Refusal, match="Row 0: phrases are searched for with the exported beam"):
        predictions({"text": TEXT, "require": "Hund", "beam": 1}, engine=model)
