"""LibreTranslate's API: requests as its clients send them, answers as they expect them."""

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine

PAIR = {"source": "en", "target": "de"}


def asked(address, path="translate", data=None, kind="form", method=None, headers=None):
    """Sends a request; returns its status and the parsed JSON.

    Args:
        data: {field: value}, or bytes.
        kind: "form", "json", or "query", which sends the fields in the address of a POST request,
            as deep-translator does.
    """
    headers, body = dict(headers or {}), None
    if kind == "json":
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        headers["Content-Type"] = "application/json"
    elif kind == "form" and data is not None:
        body = data if isinstance(data, bytes) else urllib.parse.urlencode(data).encode()
    elif data is not None:
        path, body = f"{path}?{urllib.parse.urlencode(data)}", b""
    request = urllib.request.Request(f"{address}/{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.fixture(scope="module")
def address():
    """A server for English to German and back, with beam width 4."""
    with serving(en_de=EchoEngine(), de_en=EchoEngine()) as address:
        yield address


@pytest.fixture(scope="module")
def one_pair():
    def missing(codes):
        raise ValueError("needs pip install 't2t-keras[identify]'")

    with serving(en_de=EchoEngine(), detector_for=missing) as address:
        yield address


@pytest.mark.parametrize("kind", ["form", "json", "query"])
def test_a_text_is_translated_however_its_fields_are_sent(address, kind):
    fields = {"q": "Two dogs. A cat.", **PAIR, "format": "text", "api_key": ""}
    assert asked(address, data=fields, kind=kind) == (200, {"translatedText": "Two dogs. A cat."})
    more = asked(address, data={**fields, "alternatives": 2}, kind=kind)
    assert more == (
        200,
        {
            "translatedText": "Two dogs. A cat.",
            "alternatives": ["Two dogs.! A cat.!", "Two dogs.!! A cat.!!"],
        },
    )


def test_the_query_of_get_and_multipart_forms_are_read(address):
    query = urllib.parse.urlencode({"q": "é 漢字", **PAIR})
    assert asked(address, f"translate?{query}") == (200, {"translatedText": "é 漢字"})
    parts = "".join(
        f'--xyz\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in {"q": "a\r\nb", **PAIR}.items()
    )
    headers = {"Content-Type": 'multipart/form-data; boundary="xyz"'}
    sent = asked(address, data=f"{parts}--xyz--\r\n".encode(), headers=headers)
    assert sent == (200, {"translatedText": "a\nb"})


def test_lists_html_and_detection_have_their_own_shapes(address):
    texts = ["<p>Two <b>dogs</b>.</p>", "", "A cat sees the house and the dog."]
    fields = {"q": texts, "source": "auto", "target": "de", "format": "html", "alternatives": 9}
    status, answer = asked(address, data=fields, kind="json")
    assert (status, answer["translatedText"]) == (200, texts)
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en"] * 3
    assert 0 < answer["detectedLanguage"][0]["confidence"] <= 100
    assert [len(each) for each in answer["alternatives"]] == [3, 0, 3]
    assert answer["alternatives"][0][0].startswith("<p>Two <b>dogs")
    german = {"q": "Der Hund sieht die Katze und das Haus.", "source": "auto", "target": "en"}
    assert asked(address, data=german)[1]["detectedLanguage"]["language"] == "de"
    same = asked(address, data={**german, "target": "de", "alternatives": 1})[1]
    assert (same["translatedText"], same["alternatives"]) == (german["q"], [])
    for kind in ("form", "json"):
        found = asked(address, "detect", {"q": german["q"]}, kind)[1]
        assert found[0]["language"] == "de" and 0 < found[0]["confidence"] <= 100
    assert asked(address, "detect", {"q": "12"}) == (200, [{"confidence": 0.0, "language": "en"}])


def test_a_glossary_is_a_text_or_an_object_and_unknown_fields_are_named(address):
    fields = {"q": "The dog. A cat.", **PAIR}
    expected = {"translatedText": "der Hund The dog. A cat."}
    for kind, glossary in (
        ("form", "dog\tder Hund"),
        ("query", "dog\tder Hund"),
        ("json", "dog\tder Hund"),
        ("json", {"dog": "der Hund"}),
    ):
        data = fields | {"glossary": glossary, "secret": "x", "alternatives": 0}
        assert asked(address, data=data, kind=kind) == (200, expected)
    answer = asked(address, data=fields | {"glosary": "dog\tHund", "beams": 3}, kind="json")[1]
    assert answer == {"translatedText": fields["q"], "ignoredFields": ["beams", "glosary"]}
    assert asked(address, data=fields | {"glossary": None}, kind="json")[0] == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"glossary": 5}, "Invalid request: glossary parameter is not a string"),
        ({"glossary": {"dog": None}}, "Invalid request: glossary parameter is not a string"),
        (
            {"glossary": "dog Hund"},
            "Invalid request: `glossary`, line 1: must be a source phrase, a tab and a target "
            "phrase. Received: 'dog Hund'",
        ),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"alternatives": "abc"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "../x"}, "../x is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": ["a", 5]}, "Invalid request: q parameter is neither a string nor a list of them"),
        ({"q": {"a": 1}}, "Invalid request: q parameter is neither a string nor a list of them"),
        ({"source": ["en"]}, "Invalid request: source parameter is not a string"),
        ({"q": "\ud800"}, "Input 'q': a string contains an unpaired surrogate, which is not text"),
    ],
)
def test_mistakes_get_the_errors_of_libretranslate(address, fields, message):
    fields = {"q": "a", **PAIR} | fields
    assert asked(address, data=fields, kind="json") == (400, {"error": message})


def test_limits_and_malformed_bodies_have_a_reason(address):
    for body, kind, status, message in (
        (b"[1]", "json", 400, "Invalid JSON format"),
        (b'{"q": ', "json", 400, "JSON parse error: Expecting value"),
        (b"q=%ff&source=en&target=de", "form", 400, "The form is not UTF-8"),
        (b"&".join(b"%d=1" % n for n in range(200)), "form", 400, "more than 100 fields"),
        ({"q": ["a"] * 1001, **PAIR}, "json", 413, "has 1,001 rows; at most 1,000"),
        ({"q": "x" * 4001, **PAIR}, "json", 413, "has 4,001 bytes; at most 4,000"),
        ({"q": "x" * 1_000_001, **PAIR}, "json", 413, "--max_body_bytes"),
    ):
        code, answer = asked(address, data=body, kind=kind)
        assert code == status and message in answer["error"]
    assert asked(address, "detect", {"q": ""})[0] == 400
    for path, what in (("suggest", "Suggestions"), ("translate_file", "Files translation")):
        error = {"error": f"{what} are disabled on this server."}
        assert asked(address, path, {"q": "a"}) == (403, error)
        assert asked(address, path)[0] == 405


def test_languages_and_settings_are_those_of_all_models(address, one_pair):
    assert asked(address, "languages")[1] == [
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "de", "name": "German", "targets": ["de", "en"]},
    ]
    assert asked(one_pair, "languages")[1][1] == {"code": "de", "name": "German", "targets": ["de"]}
    settings = asked(address, "frontend/settings")[1]
    assert not (settings["keyRequired"] or settings["filesTranslation"] or settings["suggestions"])
    assert settings["language"]["target"] == {"code": "de", "name": "German"}
    assert asked(address, "health") == (200, {"status": "ok"})


def test_with_one_source_auto_needs_no_detector(one_pair):
    asking = {"q": "Ein Hund.", "source": "auto", "target": "de"}
    detected = {"confidence": 100.0, "language": "en"}
    answer = {"translatedText": "Ein Hund.", "detectedLanguage": detected}
    assert asked(one_pair, data=asking) == (200, answer)
    status, answer = asked(one_pair, "detect", {"q": "Ein Hund."})
    assert status == 400 and "pip install 't2t-keras[identify]'" in answer["error"]
    backwards = {"error": "English (en) is not available as a target language from German (de)"}
    assert asked(one_pair, data={"q": "a", "source": "de", "target": "en"}) == (400, backwards)


def test_tags_and_codes_name_target_languages():
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


def test_a_model_may_rewrite_a_language_but_otherwise_texts_stay_as_they_are(address):
    fields = {"q": "a", "source": "en", "target": "en"}
    assert asked(address, data=fields) == (200, {"translatedText": "a"})
    engine = EchoEngine()
    with serving(en_en=engine) as rewriting:
        assert asked(rewriting, data=fields) == (200, {"translatedText": "a"})
    assert len(engine.calls) == 1
