"""A server of a small exported run gives rows what they ask for, as the export itself does."""

import re

import pytest
from support.serving.serving_client import get, metric, predict, served

from t2t_keras.translating.find import load_translator

pytestmark = pytest.mark.long

TEXT = "The dog sleeps. The cat sleeps!"


@pytest.fixture(scope="module")
def address(exported_toy_run):
    with served(exported_toy_run[1], "--nocompile") as (process, address):
        yield address
        assert process.stop() == 0
        assert "Traceback" not in process.errors()


def asked(address, *rows):
    body = {"signature_name": "translate_with_options", "instances": list(rows)}
    status, answer = predict(address, body, "v1/models/toy:predict")
    assert status == 200, answer
    return answer["predictions"]


def test_metadata_shows_all_options(address):
    answer = get(address, "v1/models/toy/metadata")[1]
    signature = answer["metadata"]["signature_def"]["signature_def"]["translate_with_options"]
    options = {"split", "prefix", "beam", "n_best", "alpha", "require", "glossary", "markup"}
    options |= {"alignments", "confidence"}
    assert options <= signature["defaults"].keys() == signature["inputs"].keys() - {"text"}
    assert "to" not in signature["inputs"]


def test_rows_get_what_they_ask_for(address):
    plain, glossary, markup, words = asked(
        address,
        {"text": TEXT},
        {"text": TEXT, "glossary": "dog\tder Hund\ncat\tKatze"},
        {"text": f"<p>{TEXT}</p>\n<br>{{x}}", "markup": "html"},
        {"text": TEXT, "alignments": True, "confidence": True, "n_best": 2},
    )
    for phrase in ("der Hund", "Katze"):
        assert re.search(rf"\b{phrase}\b", glossary["translations"][0])
    assert re.fullmatch(r"<p>[^<]*</p>\n<br>[^<]*\{x\}[^<]*", markup["translations"][0])
    assert words["translations"][0] == plain["translations"][0]
    assert plain["words"] == ["", ""] and words["source_words"] == TEXT
    for line, links, rated in zip(
        *(words[name] for name in ("words", "alignments", "confidence")), strict=True
    ):
        count = len(line.split())
        assert count == len(rated.split()) > 0
        assert all(0 <= float(each) <= 1 for each in rated.split())
        for link in links.split():
            source, target = map(int, link.split("-"))
            assert source < 6 and target < count


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": "Ein"},
        {"alpha": 1.25, "n_best": 2},
        {"beam": 1},
        {"require": "Hund"},
        {"glossary": "dog\tHund", "markup": "xml"},
        {"confidence": True, "alignments": True, "n_best": 2},
    ],
)
def test_the_answer_is_that_of_the_export(address, exported_toy_run, options):
    (answer,) = asked(address, {"text": TEXT, **options})
    in_python = dict(options)
    if "require" in options:
        in_python["require"] = [[options["require"]]]
    if "glossary" in options:
        in_python["glossary"] = dict([options["glossary"].split("\t")])
    (expected,) = load_translator(exported_toy_run[1] / "export").translations([TEXT], **in_python)
    count = options.get("n_best", 1)
    assert answer["translations"][:count] == [each.text for each in expected]
    scores = [each.score for each in expected]
    assert answer["scores"][:count] == pytest.approx(scores, rel=1e-4)


def test_an_answer_has_no_words_if_no_row_asks_for_them(address):
    row = {"text": TEXT, "n_best": 2, "alpha": 1.0}
    (plain,), (rated,) = asked(address, row), asked(address, {**row, "confidence": True})
    assert plain["translations"] == rated["translations"]
    assert plain["scores"] == pytest.approx(rated["scores"], rel=1e-4)
    assert plain.keys() == {"translations", "scores"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"glossary": "dog Hund"}, "Row 1: `glossary`, line 1: must be a source phrase, a tab"),
        ({"markup": "pdf"}, "Row 1: `markup` must be one of 'html', 'xml', 'placeholders'"),
        ({"text": "", "require": "Hund"}, "Row 1: the translation of an empty text is empty"),
        ({"beam": 3}, "Row 1: `beam` must be at most 2. Received: beam=3"),
        ({"require": "Hund", "beam": 1}, "Row 1: phrases are searched for with the exported beam"),
    ],
)
def test_mistakes_are_refused_with_their_row(address, row, message):
    rows = [{"text": TEXT, "alpha": 0.1}, {"text": TEXT, "confidence": True, **row}]
    body = {"signature_name": "translate_with_options", "instances": rows}
    status, answer = predict(address, body, "v1/models/toy:predict")
    assert status == 400 and message in answer["error"]
    assert metric(address, "t2t_waiting_rows") == 0
