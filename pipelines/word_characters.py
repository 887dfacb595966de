"""Where words begin and end, for phrases that must be whole words."""

import unicodedata

JOINERS = "_\u200c\u200d"  # the last two join letters, as in Persian


def is_word_character(character):
    """Returns whether a character is part of a word together with its neighbours.

    Letters, digits and accents are, but not wide letters: Chinese and Japanese have no spaces.
    """
    if unicodedata.east_asian_width(character) in "WF":
        return False
    is_accent = unicodedata.category(character).startswith("M")
    return character.isalnum() or is_accent or character in JOINERS


def is_edge(text, index):
    """Returns whether no word goes on from the character before `index` to the one after it."""
    if not 0 < index < len(text):
        return True
    return not (is_word_character(text[index - 1]) and is_word_character(text[index]))
