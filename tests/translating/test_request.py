import dataclasses

import pytest

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.request import FIELDS, SEARCH, Request, descriptions, requests_of


def test_a_request_has_every_setting_of_a_search_and_changes_those_that_it_says():
    assert {*SEARCH} == {field.name for field in dataclasses.fields(SearchConfig)} < {*FIELDS}
    assert Request("a").search() == {}
    assert Request("a", beam=2, alpha=0.0, stopping="first").search() == {
        "beam": 2,
        "alpha": 0.0,
        "stopping": "first",
    }


@pytest.mark.parametrize("cls", [Request, SearchConfig])
def test_every_field_has_a_description(cls):
    own = {field.name for field in dataclasses.fields(cls)}
    found = descriptions(cls)
    assert found.keys() == (own - {*SEARCH} if cls is Request else own)
    assert all(text.endswith(".") and "  " not in text for text in found.values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"split": "atuo"}, r"`split` must be one of 'auto', 'off' \(did you mean 'auto'\?\)"),
        ({"markup": "htm"}, r"`markup` must be one of .*\(did you mean 'html'\?\)"),
        ({"alignments": 1}, r"`alignments` must be True or False. Received: alignments=1"),
        ({"require": "Hund"}, r"`require` must be a list of phrases. Received: require='Hund'"),
        ({"require": [3]}, r"`require` must be a list of phrases. Received: require=\[3\]"),
        ({"require": ["a"], "markup": "xml"}, "Leave out either the phrases or the markup"),
        ({"prefix": None}, r"`prefix` must be a text. Received: prefix=None"),
        ({"glossary": ["a"]}, r"`glossary` must be .*Received: glossary=\['a'\]"),
        ({"to": 3}, r"`to` must be .*Received: to=3"),
    ],
)
def test_wrong_values_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Request("a", **wrong)


def test_requests_have_the_options_of_all_texts_and_the_prefixes_and_phrases_of_their_own():
    own = Request("c", beam=1, alpha=0.5, prefix="v")
    found = requests_of(
        ["a", "b", own], prefixes=["x", "", "y"], require=[[], ["z"], ["w"]], beam=2, markup=None
    )
    assert found == [
        Request("a", prefix="x", require=[], beam=2),
        Request("b", require=["z"], beam=2),
        Request("c", alpha=0.5, prefix="y", require=["w"], beam=2),
    ]
    assert own == Request("c", beam=1, alpha=0.5, prefix="v"), "it is the caller's"
    assert requests_of([own]) == [own]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bean": 2}, r"there is no option 'bean' \(did you mean 'beam'\?\). The options are "),
        ({"prefixes": "xy"}, r"`prefixes` must be a list .*Received: .*'xy'"),
        ({"prefixes": ["x"]}, r"`prefixes` must have an item for each text. Received: 1 for 2 t"),
        ({"require": [["x"]] * 3}, r"`require` must have an item for each text. Received: 3 for"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        requests_of(["a", "b"], **options)


def test_a_text_is_a_string_or_the_pieces_of_a_line():
    with pytest.raises(ValueError, match="`text` must be a string"):
        Request(b"a")
    assert Request(["<p>"]).text == ["<p>"]
