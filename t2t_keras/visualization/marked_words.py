"""Marks the words in which two texts differ."""

import difflib
import itertools
import unicodedata

from t2t_keras.visualization.document import element

LONGEST = 1000  # maximum number of words of a text; the time grows with their square
# Scripts without spaces between words, whose characters are compared one by one.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def marked(text, other):
    """Returns text and elements in which the words that `other` lacks are marked.

    The words are aligned in order, so a word that `other` has elsewhere is marked too.

    Args:
        text, other: strings.

    Example:

    >>> [getattr(part, "text", part) for part in marked("ein alter Hund.", "ein Hund!")]
    ['ein ', 'alter', ' Hund', '.']
    """
    words, others = words_in(text), words_in(other)
    spoken, others = ([w for w in each if not w.isspace()] for each in (words, others))
    if max(len(spoken), len(others)) > LONGEST:
        return [text]
    matches = difflib.SequenceMatcher(None, spoken, others, autojunk=False).get_matching_blocks()
    common = {first + i for first, _, size in matches for i in range(size)}
    is_marked, index = [], 0
    for word in words:
        is_marked.append(not word.isspace() and index not in common)
        index += not word.isspace()
    return joined(words, is_marked)


def joined(words, is_marked):
    """Returns runs of words, each marked one in an element; spaces between two marked ones too."""
    for i in range(1, len(words) - 1):
        if words[i].isspace():
            is_marked[i] = is_marked[i - 1] and is_marked[i + 1]
    groups = itertools.groupby(zip(words, is_marked, strict=True), key=lambda pair: pair[1])
    texts = ((mark, "".join(word for word, _ in group)) for mark, group in groups)
    return [element("mark", text) if mark else text for mark, text in texts]


def words_in(text):
    """Returns words, signs and spaces, which together are the text.

    >>> words_in("Don't stop!")
    ["Don't", ' ', 'stop', '!']
    """
    words = []
    for word in ("".join(group) for _, group in itertools.groupby(text, key=str.isspace)):
        words += [word] if word.isspace() else parts_of(word)
    return words


def parts_of(word):
    """Splits signs at both ends off a word, and an unspaced text into characters."""
    inner = word
    while inner and not is_letter(inner[0]):
        inner = inner[1:]
    start = word[: len(word) - len(inner)]
    while inner and not is_letter(inner[-1]):
        inner = inner[:-1]
    end = word[len(start) + len(inner) :]
    pieces = []
    for unspaced, group in itertools.groupby(inner, key=is_unspaced):
        letters = "".join(group)
        pieces += letters if unspaced else [letters]
    return [*start, *pieces, *end]


def is_letter(sign):
    """Returns whether a character is a letter, a digit or a mark on one of them."""
    return unicodedata.category(sign)[0] in "LNM"


def is_unspaced(sign):
    return unicodedata.name(sign, "").startswith(UNSPACED)
