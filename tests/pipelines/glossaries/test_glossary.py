import gzip

import pytest

from pipelines.glossaries.glossary import Glossary

TERMS = {
    "house": "Haus",
    "red house": "rotes Haus",
    "house door": "Haustür",
    "Apple": "Apple",
    "apple": "Apfel",
    "C++": "C++",
    "日本": "Japan",
    "cafe\u0301": "Café",
    "mobile": "iPhone",
}


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("a house", ["Haus"]),
        ("houses, housed, greenhouse", []),
        ("the house-door (house)", ["Haus", "Haus"]),
        ("the  red\thouse", ["rotes Haus"]),
        ("a house and a red house", ["Haus", "Haus", "rotes Haus"]),
        ("a red house door", ["Haustür"]),
        ("Apple or apple", ["Apple", "Apfel"]),
        ("»House« of cards", ["Haus"]),
        ("Red house", ["Rotes Haus"]),
        ("Mobile", ["iPhone"]),
        ("a House, HOUSE", []),
        ("C++ and C+++", ["C++", "C++"]),
        ("東日本語", ["Japan"]),
        ("a caf\u00e9", ["Café"]),
        ("", []),
    ],
)
def test_phrases_are_found_as_whole_words_longest_first(text, targets):
    assert Glossary(TERMS).matches_in(text).targets() == targets


def test_a_file_has_a_pair_per_line_and_comments(tmp_path):
    path = tmp_path / "terms.tsv"
    text = "\ufeff# terms\n\nhouse\tHaus\r\n red  house \trotes Haus\nhouse\tHaus".encode()
    for contents in (text, gzip.compress(text)):
        path.write_bytes(contents)
        assert Glossary.read(path).targets == {"house": "Haus", "red house": "rotes Haus"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"house", "a source phrase, a tab and a target phrase. Received: 'house'"),
        (b"house\tHaus\tn", "a source phrase, a tab"),
        (b"house\t ", "a phrase is empty"),
        (b"cat\tHund", "'cat' has two translations, 'Katze' and 'Hund'"),
        (b"house\t\xff", "is not UTF-8"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"cat\tKatze\n\n" + line + b"\n")
    with pytest.raises(ValueError, match=r"terms\.tsv, line 3: .*" + message):
        Glossary.read(path)
    with pytest.raises(ValueError, match="phrases must be strings"):
        Glossary({"a": None})
