"""A CTranslate2 or LiteRT folder is served with the options that its engine has."""

import pytest
from support.serving.served_engine import TAGS, EchoEngine, predictions, tokenizer

from pipelines.atomic_files import write_json
from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.engine_model import EngineModel
from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine
from t2t_keras.translating.exports import RECORD

TEXT = "The dog sleeps. The cat sleeps!"
TRANSLATING = {"serving_default", "translate_n_best", OPTIONS}


def test_its_signatures_are_those_of_a_savedmodel_that_its_engine_can_compute():
    model = EngineModel(EchoEngine())
    assert model.signatures.keys() == {"score", "score_pieces", "align"}
    assert model.metadata.keys() == TRANSLATING | model.signatures.keys()
    several = EngineModel(EchoEngine(tags=list(TAGS)))
    assert several.metadata.keys() == TRANSLATING, "the pair does not say its tag"


@pytest.mark.long
def test_ctranslate2_takes_prefixes_markup_alignments_and_confidence(run, tmp_path):
    engine = CTranslate2Engine(run.export(tmp_path / "ctranslate2", "ctranslate2", extra_length=5))
    offered = EngineModel(engine).metadata[OPTIONS]["defaults"].keys()
    search, words = {"alpha", "beam", "n_best"}, {"alignments", "confidence"}
    assert offered == search | words | {"split", "prefix", "markup"}
    prefix, markup, rated = predictions(
        {"text": TEXT, "prefix": "mein"},
        {"text": f"<p>{TEXT}</p>\n{{x}}", "markup": "html"},
        {"text": TEXT, "alignments": True, "confidence": True, "beam": 3, "n_best": 2},
        engine=engine,
    )
    assert prefix["translations"][0].startswith("mein")
    assert markup["translations"][0].startswith("<p>") and "{x}" in markup["translations"][0]
    assert rated["source_words"] == TEXT
    sizes = [
        [len(each.split()) for each in rated[name]]
        for name in ("words", "confidence", "alignments")
    ]
    assert sizes[0] == sizes[1] == sizes[2] and any(sizes[0])


def test_a_model_whose_path_is_hidden_knows_its_languages(tmp_path):
    write_json(tmp_path / RECORD, {"languages": ["en", "de"]})
    model = EngineModel(EchoEngine(folder=tmp_path, name=tmp_path))
    assert model.engine.name == "this model" and model.engine.languages() == ("en", "de")


def test_the_tag_of_an_engine_precedes_sources():
    engine = EchoEngine(tags=list(TAGS), tag=TAGS[1])
    predictions({"text": "a"}, {"text": "a", "to": "de"}, engine=engine)
    pieces = tokenizer().source.pieces([ids[0] for source in engine.sources for ids in source])
    assert sorted(pieces) == sorted(TAGS)
