"""Marks the words in which two texts differ."""

import difflib
import itertools
import re
import unicodedata

from t2t_keras.visualization.document import element

LONGEST = 2000  # maximum number of words of a text; the time grows with their square
# Scripts without spaces between words, whose characters are compared one by one.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def marked(first, second):
    """Returns both texts, as lists of texts and elements in which words without a match are marked.

    The longest run of equal words is matched first, then those before it and after it. A word that
    the other text has elsewhere is also marked.

    Example:

    >>> parts, _ = marked("ein alter Hund.", "ein Hund!")
    >>> [getattr(part, "text", part) for part in parts]
    ['ein ', 'alter', ' ', 'Hund', '.', '']
    """
    sides = words_in(first), words_in(second)
    if max(map(len, sides)) > LONGEST:
        return [first], [second]
    words = ([word for word, _ in side] for side in sides)
    parts = [], []
    for kind, *ends in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, start, end, found in zip(sides, ends[::2], ends[1::2], parts, strict=True):
            text = "".join(word + spaces for word, spaces in side[start:end])
            if kind == "equal" or not text.strip():
                found.append(text)
            else:
                found += [element("mark", text.rstrip()), text[len(text.rstrip()) :]]
    return parts


def words_in(text):
    """Returns words and signs with the spaces after them, which together are the text.

    >>> words_in("Don't stop!")
    [("Don't", ' '), ('stop', ''), ('!', '')]
    """
    words = []
    for word, spaces in re.findall(r"(\S*)(\s*)", text)[:-1]:
        *pieces, last = parts_of(word) or [""]
        words += [*((piece, "") for piece in pieces), (last, spaces)]
    return words


def parts_of(word):
    """Splits signs at both ends off a word, and an unspaced text into characters."""
    letters = [i for i, sign in enumerate(word) if unicodedata.category(sign)[0] in "LNM"]
    if not letters:
        return list(word)
    first, last = letters[0], letters[-1] + 1
    pieces = []
    for unspaced, group in itertools.groupby(word[first:last], key=is_unspaced):
        piece = "".join(group)
        pieces += piece if unspaced else [piece]
    return [*word[:first], *pieces, *word[last:]]


def is_unspaced(sign):
    return unicodedata.name(sign, "").startswith(UNSPACED)
