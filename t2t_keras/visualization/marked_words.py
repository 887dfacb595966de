"""Marks the words in which two texts differ."""

import difflib
import itertools
import unicodedata

from t2t_keras.visualization.document import element

LONGEST = 1000  # maximum number of words of a text; the time grows with their square
# Scripts without spaces between words, whose characters are compared one by one.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def marked(first, second):
    """Returns both texts, as lists of texts and elements in which words without a match are marked.

    The words are matched in order, so a word that the other text has elsewhere is also marked.

    Args:
        first, second: strings.

    Example:

    >>> parts, _ = marked("ein alter Hund.", "ein Hund!")
    >>> [getattr(part, "text", part) for part in parts]
    ['ein ', 'alter', ' Hund', '.']
    """
    sides = [words_in(text) for text in (first, second)]
    words = [[word for word in side if not word.isspace()] for side in sides]
    if max(map(len, words)) > LONGEST:
        return [first], [second]
    blocks = difflib.SequenceMatcher(None, *words, autojunk=False).get_matching_blocks()
    starts = [block.a for block in blocks], [block.b for block in blocks]
    matched = [
        {start + i for start, block in zip(own, blocks, strict=True) for i in range(block.size)}
        for own in starts
    ]
    return joined(sides[0], matched[0]), joined(sides[1], matched[1])


def joined(words, matched):
    """Returns a list of texts and elements: the words without a match, and spaces between them.

    Args:
        words: words, signs and spaces.
        matched: set of the indices of matched words, not counting spaces.
    """
    is_marked, index = [], 0
    for word in words:
        is_marked.append(not word.isspace() and index not in matched)
        index += not word.isspace()
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
    letters = [i for i, sign in enumerate(word) if is_letter(sign)]
    if not letters:
        return list(word)
    first, last = letters[0], letters[-1] + 1
    pieces = []
    for unspaced, group in itertools.groupby(word[first:last], key=is_unspaced):
        piece = "".join(group)
        pieces += piece if unspaced else [piece]
    return [*word[:first], *pieces, *word[last:]]


def is_letter(sign):
    """Returns whether a character is a letter, a digit or a mark on one of them."""
    return unicodedata.category(sign)[0] in "LNM"


def is_unspaced(sign):
    return unicodedata.name(sign, "").startswith(UNSPACED)
