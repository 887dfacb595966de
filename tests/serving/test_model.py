"""A model's tags, languages and glossaries, which its requests use."""

import pytest
from support.serving.served_engine import TAGS, EchoEngine, Lacking, predictions, tokenizer

from pipelines.atomic_files import write_json
from t2t_keras.serving.answering import PARSED, memory_of
from t2t_keras.serving.model import ServedModel
from t2t_keras.translating.exports import RECORD
from t2t_keras.translating.languages import Languages


@pytest.fixture
def terms(tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tder Hund\n")
    return tmp_path / "terms.tsv"


def test_a_model_whose_path_is_hidden_knows_its_languages(tmp_path):
    write_json(tmp_path / RECORD, {"languages": ["en", "de"]})
    model = ServedModel(EchoEngine(folder=tmp_path, name=tmp_path))
    assert model.engine.name == "this model" and model.engine.languages() == ("en", "de")


def test_a_model_translates_into_the_languages_of_its_tags():
    pairs = {("en", "de"): (TAGS[0], ""), ("en", "fr"): (TAGS[1], "")}
    assert ServedModel(EchoEngine(tags=list(TAGS)), Languages("en", "de")).pairs == pairs
    assert ServedModel(EchoEngine(), Languages("en", "de")).pairs == {("en", "de"): (None, "")}
    assert ServedModel(EchoEngine()).pairs == {}


def test_the_tag_of_an_engine_precedes_sources():
    engine = EchoEngine(tags=list(TAGS), tag=TAGS[1])
    predictions({"text": "a"}, {"text": "a", "to": "de"}, engine=engine)
    pieces = tokenizer().source.pieces([ids[0] for source in engine.sources for ids in source])
    assert sorted(pieces) == sorted(TAGS)


def test_the_models_glossary_applies_where_a_request_has_none(terms):
    model = ServedModel(EchoEngine(), glossary=terms)
    given = {}, {"glossary": ""}, {"glossary": "cat\tKatze"}, {"glossary": {"cat": "Kater"}}
    requests = [model.request({"text": "a"} | options) for options in given]
    found = [[*each.glossary.targets.values()] for each in requests]
    assert found == [["der Hund"], ["der Hund"], ["Katze"], ["Kater"]]
    (answer,) = predictions("The dog.", signature="serving_default", glossary=terms)
    assert answer["translations"] == "der Hund The dog."


def test_a_model_that_cannot_search_for_phrases_has_no_glossary(terms):
    with pytest.raises(ValueError, match="no phrases"):
        ServedModel(Lacking(), glossary=terms)


def test_markup_counts_as_memory_and_a_glossary_of_all_rows_once():
    row = {"text": "a", "glossary": {"dog": "Hund"}}
    assert memory_of([row]) == memory_of([row, row | {"text": "b"}]) == 15 * PARSED
    assert memory_of([{"text": "abc", "markup": "xml"}, {"text": "abc"}]) == 3 * PARSED
