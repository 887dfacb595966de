"""Marks the words in which two texts differ."""

import collections
import itertools
import unicodedata

from t2t_keras.visualization.document import element

LONGEST = 10_000  # maximum number of words of a text; time and memory grow with their square
# Scripts without spaces between words, whose characters are compared one by one.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def marked(first, second):
    """Returns both texts, as lists of texts and elements in which words without a match are marked.

    The words are matched in order, and as few as possible are marked. So a word that the other text
    has elsewhere is also marked.

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
    pairs = matches(*words)
    return joined(sides[0], {i for i, _ in pairs}), joined(sides[1], {j for _, j in pairs})


def matches(first, second):
    """Returns the pairs of indices of a longest common subsequence, in order.

    In a table of the lengths for all pairs of suffixes, neighbours differ by 0 or 1. An integer has
    the differences of a row as its bits, so that a few operations compute a row.

    Args:
        first, second: lists of words.

    References:
        Hyyrö 2004, Bit-parallel LCS-length computation revisited.
    """
    size = len(second)
    places = collections.defaultdict(int)  # {word: a bit for each of its places, from the end}
    for j, word in enumerate(second):
        places[word] |= 1 << (size - 1 - j)
    every = (1 << size) - 1
    rows = [every]  # a bit is 0 where the length grows
    for word in reversed(first):
        same = rows[-1] & places.get(word, 0)
        rows.append(((rows[-1] + same) | (rows[-1] - same)) & every)
    pairs, i, j = [], 0, 0
    while i < len(first) and j < size:
        bit = 1 << (size - 1 - j)
        above = rows[len(first) - 1 - i]
        if rows[len(first) - i] & bit:
            j += 1
        elif not above & bit:
            i += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs


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
