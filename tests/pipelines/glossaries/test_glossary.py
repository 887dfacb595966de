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


def test_phrases_are_strings():
    with pytest.raises(ValueError, match="phrases must be strings"):
        Glossary({"a": None})
