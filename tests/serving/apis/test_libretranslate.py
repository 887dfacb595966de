"""LibreTranslate's API: requests as its clients send them, answers as they expect them."""

import json
import urllib.parse
import urllib.request

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import opened

PAIR = {"source": "en", "target": "de"}
GERMAN = "Der Hund sieht die Katze und das Haus."


def asked(address, path="translate", data=None, kind="json"):
    """Sends a request; returns its status and the parsed JSON.

    Args:
        data: {field: value}. None: sends a GET request.
        kind: "form", "json", or "query", which sends the fields in the address of a POST request,
            as deep-translator does.
    """
    headers, body = {}, None
    if data is not None:
        body = urllib.parse.urlencode(data).encode() if kind == "form" else b""
    if data is not None and kind == "json":
        headers, body = {"Content-Type": "application/json"}, json.dumps(data).encode()
    elif kind == "query":
        path = f"{path}?{urllib.parse.urlencode(data)}"
    return opened(urllib.request.Request(f"{address}/{path}", body, headers))


@pytest.fixture(scope="module")
def address():
    """A server for English to German and back, with beam width 4."""
    with serving(en_de=EchoEngine(), de_en=EchoEngine()) as address:
        yield address


@pytest.mark.parametrize("kind", ["form", "json", "query"])
def test_a_text_is_translated_however_its_fields_are_sent(address, kind):
    fields = {"q": "Two dogs. É 漢字", **PAIR, "format": "text", "api_key": "", "secret": "x"}
    answer = {"translatedText": fields["q"]}
    assert asked(address, data=fields, kind=kind) == (200, answer)
    answer["alternatives"] = ["Two dogs.! É 漢字!", "Two dogs.!! É 漢字!!"]
    assert asked(address, data={**fields, "alternatives": 2}, kind=kind) == (200, answer)
    query = urllib.parse.urlencode(fields)
    assert asked(address, f"translate?{query}") == (200, {"translatedText": fields["q"]})


def test_lists_and_html_have_their_own_shapes(address):
    texts = ["<p>Two <b>dogs</b>.</p>", "", "A cat sees the house and the dog."]
    fields = {"q": texts, "source": "auto", "target": "de", "format": "html", "alternatives": 9}
    status, answer = asked(address, data=fields)
    assert (status, answer["translatedText"]) == (200, texts)
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en"] * 3
    assert 0 < answer["detectedLanguage"][0]["confidence"] <= 100
    assert [len(each) for each in answer["alternatives"]] == [3, 0, 3]
    assert answer["alternatives"][0][0].startswith("<p>Two <b>dogs")


def test_the_source_language_is_detected(address):
    fields = {"q": GERMAN, "source": "auto", "target": "en"}
    assert asked(address, data=fields)[1]["detectedLanguage"]["language"] == "de"
    found = asked(address, "detect", {"q": GERMAN})[1]
    assert found[0]["language"] == "de" and 0 < found[0]["confidence"] <= 100
    assert asked(address, "detect", {"q": "12"}) == (200, [{"confidence": 0.0, "language": "en"}])
    assert asked(address, "detect", {"q": ""})[0] == 400


def test_texts_in_the_target_language_stay_as_they_are_unless_a_model_rewrites_it(address):
    fields = {"q": "a", "source": "en", "target": "en"}
    expected = 200, {"translatedText": "a", "alternatives": []}
    assert asked(address, data=fields | {"alternatives": 1}) == expected
    engine = EchoEngine()
    with serving(en_en=engine) as rewriting:
        assert asked(rewriting, data=fields) == (200, {"translatedText": "a"})
    assert len(engine.calls) == 1


def test_a_glossary_is_a_text_or_an_object_and_unknown_fields_are_named(address):
    fields = {"q": "The dog. A cat.", **PAIR}
    expected = {"translatedText": "der Hund The dog. A cat."}
    for kind, glossary in (("form", "dog\tder Hund"), ("json", {"dog": "der Hund"})):
        data = fields | {"glossary": glossary, "alternatives": 0}
        assert asked(address, data=data, kind=kind) == (200, expected)
    assert asked(address, data=fields | {"glossary": None})[0] == 200
    answer = asked(address, data=fields | {"glosary": "dog\tHund", "beams": 3})[1]
    assert answer == {"translatedText": fields["q"], "ignoredFields": ["beams", "glosary"]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"glossary": 5}, "Invalid request: glossary parameter is not a string"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        ({"source": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": ["a", 5]}, "Invalid request: q parameter is neither a string nor a list of them"),
        ({"source": ["en"]}, "Invalid request: source parameter is not a string"),
        ({"q": "\ud800"}, "A string contains an unpaired surrogate, which is not text"),
    ],
)
def test_mistakes_get_the_errors_of_libretranslate(address, fields, message):
    fields = {"q": "a", **PAIR} | fields
    assert asked(address, data=fields) == (400, {"error": message})


def test_limits_are_those_of_the_server_and_some_functions_are_disabled(address):
    for q, message in (
        (["a"] * 1001, "has 1,001 rows; at most 1,000"),
        ("x" * 4001, "4,001 bytes"),
    ):
        code, answer = asked(address, data=PAIR | {"q": q})
        assert code == 413 and message in answer["error"]
    error = {"error": "Suggestions are disabled on this server."}
    assert asked(address, "suggest", {"q": "a"}) == (403, error)


def test_languages_and_settings_are_those_of_all_models(address):
    assert asked(address, "languages")[1] == [
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "de", "name": "German", "targets": ["de", "en"]},
    ]
    settings = asked(address, "frontend/settings")[1]
    assert not (settings["keyRequired"] or settings["suggestions"])
    assert settings["charLimit"] == 250_000
    assert settings["language"]["target"] == {"code": "de", "name": "German"}
    assert asked(address, "health") == (200, {"status": "ok"})


def test_with_one_source_language_a_text_in_the_target_language_comes_back():
    engine = EchoEngine()
    with serving(en_de=engine) as address:
        for text, language in ((GERMAN, "de"), ("The dog sees the cat.", "en")):
            assert not engine.sources
            answer = asked(address, data={"q": text, "source": "auto", "target": "de"})[1]
            assert answer["translatedText"] == text
            assert answer["detectedLanguage"]["language"] == language
            assert 0 < answer["detectedLanguage"]["confidence"] <= 100
    assert len(engine.sources) == 1


def test_with_one_source_language_auto_needs_no_detector():
    def missing(codes):
        raise ValueError("needs pip install 't2t-keras[identify]'")

    with serving(en_de=EchoEngine(), detector_for=missing) as address:
        german = {"code": "de", "name": "German", "targets": ["de"]}
        assert asked(address, "languages")[1][1] == german
        detected = {"confidence": 0.0, "language": "en"}
        answer = {"translatedText": "Ein Hund.", "detectedLanguage": detected}
        fields = {"q": "Ein Hund.", "source": "auto", "target": "de"}
        assert asked(address, data=fields) == (200, answer)
        status, answer = asked(address, "detect", {"q": "Ein Hund."})
        assert status == 400 and "pip install 't2t-keras[identify]'" in answer["error"]
        message = "English (en) is not available as a target language from German (de)"
        backwards = {"q": "a", "source": "de", "target": "en"}
        assert asked(address, data=backwards) == (400, {"error": message})


def test_tags_name_target_languages():
    tagged = EchoEngine(tags=("<2de>", "<2fr>"))
    with serving(en_de=tagged) as address:
        assert asked(address, "languages")[1][0]["targets"] == ["de", "en", "fr"]
        for target in ("fr", "de"):
            assert asked(address, data={"q": "A dog.", "source": "en", "target": target})[0] == 200
    tags = tagged.tokenizer.tags
    assert [ids[0, 0] for ids in tagged.sources] == [tags["<2fr>"], tags["<2de>"]]


def test_models_without_languages_say_how_to_name_them():
    with serving(m=EchoEngine()) as address:
        status, answer = asked(address, data={"q": "a", **PAIR})
        assert status == 400 and "t2t-serve en-de=RUN" in answer["error"]
        assert asked(address, "languages") == (200, [])
        assert asked(address, "frontend/settings")[1]["language"]["target"]["code"] == ""


def test_a_model_that_cannot_be_loaded_is_named_while_the_others_serve():
    with serving(en_de=EchoEngine(), de_en=OSError("no model in there")) as address:
        assert asked(address, data={"q": "a", **PAIR})[0] == 200
        status, answer = asked(address, data={"q": "a", "source": "de", "target": "en"})
        assert status == 503 and "Model 'de-en' cannot be loaded" in answer["error"]
        for name, state in (("en-de", "AVAILABLE"), ("de-en", "END")):
            status = asked(address, f"v1/models/{name}")[1]["model_version_status"]
            assert [each["state"] for each in status] == [state]
        error = {"error": "Unknown model 'other'. Available: 'en-de', 'de-en'"}
        assert asked(address, "v1/models/other") == (404, error)


def test_of_two_models_for_one_pair_the_first_one_translates():
    first, second = EchoEngine(), EchoEngine()
    with serving(en_de=first, opus_mt_en_de=second) as address:
        assert asked(address, data={"q": "a", **PAIR})[0] == 200
    assert (len(first.calls), len(second.calls)) == (1, 0)
