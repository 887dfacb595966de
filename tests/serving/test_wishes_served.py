"""A server of a small exported run fulfils wishes as the run's export does."""

import re

import pytest
from serving_client import get, metric, predict, served

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


def test_metadata_shows_all_wishes(address):
    answer = get(address, "v1/models/toy/metadata")[1]
    signature = answer["metadata"]["signature_def"]["signature_def"]["translate_with_options"]
    wishes = {"require", "glossary", "markup", "alignments", "confidence"}
    assert wishes <= signature["inputs"].keys() & signature["defaults"].keys()


def test_rows_get_what_they_wish_for(address):
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


def test_the_same_request_without_wishes_has_the_answer_of_the_shorter_way(address):
    row = {"text": TEXT, "n_best": 2, "alpha": 1.0}
    (plain,), (wishing,) = asked(address, row), asked(address, {**row, "confidence": True})
    assert plain["translations"] == wishing["translations"]
    assert plain["scores"] == pytest.approx(wishing["scores"], rel=1e-4)
    assert plain.keys() == {"translations", "scores"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"glossary": "dog Hund"}, "Row 1: `glossary`, line 1: must be a source phrase, a tab"),
        ({"markup": "pdf"}, "Row 1: `markup` must be one of 'html', 'xml', 'placeholders'"),
        ({"text": "", "require": "Hund"}, "Row 1: the translation of an empty text is empty"),
    ],
)
def test_mistakes_are_refused_with_their_row(address, row, message):
    rows = [{"text": TEXT, "alpha": 0.1}, {"text": TEXT, "confidence": True, **row}]
    body = {"signature_name": "translate_with_options", "instances": rows}
    status, answer = predict(address, body, "v1/models/toy:predict")
    assert status == 400 and message in answer["error"]
    assert metric(address, "t2t_waiting_rows") == 0
