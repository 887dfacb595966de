"""A served export of a small run gives rows what they ask for, as the export itself does."""

import pytest
from support.serving.served_engine import predictions

from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.apis.tensorflow_serving_signatures import signatures_of
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.model import ServedModel
from t2t_keras.translating.exports import open_export, versions_in
from t2t_keras.translating.translator import Translator

pytestmark = pytest.mark.long
TEXT = "The dog sleeps. The cat sleeps!"


@pytest.fixture(scope="module")
def engine(exported_toy_run):
    (version,) = versions_in(exported_toy_run[1] / "export").values()
    return open_export(version)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1.25, "n_best": 2},
        {"prefix": "Ein", "beam": 1},
        {"require": [["Hund"]], "confidence": True, "alignments": True},
        {"glossary": {"dog": "Hund"}, "markup": "xml"},
    ],
)
def test_the_answer_is_that_of_the_export(engine, options):
    (expected,) = Translator(engine).translations([TEXT], **options)
    given = {"require": "Hund", "glossary": "dog\tHund"}
    row = {"text": TEXT} | options | {key: given[key] for key in given if key in options}
    (answer,) = predictions(row, engine=engine)
    count = options.get("n_best", 1)
    assert answer["translations"][:count] == [each.text for each in expected]
    if "confidence" in options:
        rated, links = answer["confidence"][0].split(), answer["alignments"][0].split()
        assert [float(each) for each in rated] == pytest.approx(expected[0].confidence, abs=1e-3)
        assert links == [f"{i}-{j}" for i, j in expected[0].alignment]
        assert len(answer["words"][0].split()) == len(rated)
    scores = [each.score for each in expected]
    assert answer["scores"][:count] == pytest.approx(scores, rel=1e-4)


def test_it_has_the_signatures_of_translations_and_pairs_and_the_exported_beam(engine):
    translating = {"serving_default", "translate_n_best", OPTIONS}
    pairs = {"score", "score_pieces", "align", "attention"}
    assert signatures_of(ServedModel(engine)).keys() == translating | pairs
    assert engine.name == "this model"
    with pytest.raises(Refusal, match="Row 0: phrases are searched for with the exported beam"):
        predictions({"text": TEXT, "require": "Hund", "beam": 1}, engine=engine)
