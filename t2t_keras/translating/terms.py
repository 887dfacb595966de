"""The terms of a sentence: glossary phrases, the source words they translate, and target units."""

import collections
from typing import NamedTuple

import numpy as np

from pipelines.text.normalization import SPACE_SIGN
from t2t_keras.translating.sentences import is_wide
from t2t_keras.translating.words import located, word_pieces


class Term(NamedTuple):
    """A phrase of a glossary that applies to a sentence."""

    words: tuple  # for each source word, the indices of its pieces in the sentence
    ids: tuple  # the target phrase


class Unit(NamedTuple):
    """A word of a translation, without the punctuation around it."""

    start: int  # index of its first piece
    stop: int
    stretch: int  # index of the stretch of words without punctuation that contains it


def terms_of(ids, matches, source, encoded):
    """Returns the `Term`s of a sentence, from left to right, given its ids and `Matches`.

    `source` is the tokenizer, and `encoded` returns the ids of a target phrase.
    """
    words = piece_spans(source, ids, matches.text) if matches.found else []
    terms = []
    for start, end, target in matches.found:
        inside = [
            tuple(index for index, (first, last) in word if first < end and last > start)
            for word in words
        ]
        if any(inside):
            terms.append(Term(tuple(filter(None, inside)), tuple(encoded(target))))
    return terms


def piece_spans(tokenizer, ids, text):
    """Returns, for each word of a text, the (index, (start, end)) of each of its pieces."""
    texts, sizes, is_word = word_pieces(tokenizer, ids)
    written = [word if is_one else "" for word, is_one in zip(texts, is_word, strict=True)]
    spans = located(text, written)
    words, at = [], 0
    for (start, end), size, is_one in zip(spans, sizes.tolist(), is_word, strict=True):
        if is_one and start < end:
            beginnings = [ids[at : at + count] for count in range(1, size)]
            written = tokenizer.decode(beginnings) if beginnings else []
            ends = [*(min(start + len(each), end) for each in written), end]
            pairs = zip([start, *ends[:-1]], ends, strict=True)
            words.append([(at + index, pair) for index, pair in enumerate(pairs)])
        at += size
    return words


def units_of(tokenizer, ids):
    """Returns the `Unit`s of a translation. If a word has wide letters, each piece is a unit."""
    texts, sizes, is_word = word_pieces(tokenizer, ids)
    pieces = [piece.replace(SPACE_SIGN, "") for piece in tokenizer.pieces(ids)]
    is_byte = np.isin(ids, tokenizer.byte_ids)
    units, at, stretch = [], 0, 0
    for text, size, is_one in zip(texts, sizes.tolist(), is_word, strict=True):
        here = range(at, at + size)
        letters = [
            index for index in here if is_byte[index] or any(map(str.isalnum, pieces[index]))
        ]
        at += size
        if not is_one or not letters:
            stretch += is_one
            continue
        first, last = letters[0], letters[-1]
        if first > here.start:
            stretch += any(pieces[here.start : first])
            first -= not pieces[first - 1]  # a piece for the space before the word
        if any(map(is_wide, text)):
            units += [Unit(index, index + 1, stretch) for index in letters]
        else:
            units.append(Unit(first, last + 1, stretch))
        stretch += last + 1 < at
    return units


def occurrences(ids, phrase, ends_word):
    """Returns the (start, stop) of each occurrence of a phrase in a translation, without overlap.

    `ends_word` says of each id of the translation whether it ends the word before it.
    """
    ids, phrase, found, start = list(ids), list(phrase), [], 0
    while start + len(phrase) <= len(ids):
        stop = start + len(phrase)
        if ids[start:stop] == phrase and (stop == len(ids) or ends_word[stop]):
            found.append((start, stop))
            start = stop
        else:
            start += 1
    return found


def contains(ids, phrases, ends_word):
    """Returns whether a translation contains each phrase as often as it is listed."""
    counts = collections.Counter(map(tuple, phrases))
    return all(len(occurrences(ids, each, ends_word)) >= count for each, count in counts.items())
