"""Joins sentences, and divides sentences that are too long for a search into parts.

The function that splits texts is an argument. It returns the sentences of a text and the separators
between them. A language code such as >>de<< before a text applies to all of its sentences. Ids that
apply to a whole sentence are repeated at the beginning of each part.
"""

import unicodedata

import numpy as np


def whole(text):
    """Returns the whole text as one sentence, with no separators."""
    return [text], []


def with_codes(sentences, split_code):
    """Puts a language code before each sentence that has none: the last code earlier in the text.

    `split_code` returns the language code at the beginning of a sentence, or "", and the rest.
    """
    code, coded = "", []
    for sentence in sentences:
        own, _ = split_code(sentence)
        coded.append(f"{code} {sentence}" if code and not own else sentence)
        code = own or code
    return coded


def joined_texts(texts, separators):
    """Joins the translations of sentences, given as strings."""
    texts = [on_one_line(text) for text in texts]
    joined = texts[0]
    for before, separator, after in zip(texts, separators, texts[1:], strict=False):
        # The source, such as Chinese, may have no space after a sentence.
        space = "" if not before or is_wide(before[-1]) else " "
        joined += (separator or space) + after
    return joined


def on_one_line(text):
    """Replaces line breaks with spaces: a model may write them as byte pieces."""
    return text.replace("\r", " ").replace("\n", " ")


def is_wide(character):
    """Returns whether a character is as wide as Chinese characters, which no space follows."""
    return unicodedata.east_asian_width(character) in "FWH"


def parts_of(ids, source, longest):
    """Splits the ids of a sentence into parts of at most `longest` ids, as long as possible.

    A sentence without text has no parts. `source` is the tokenizer of the source language.
    """
    lead, ids = np.split(ids, [source.lead(ids)])
    room = longest - len(lead)
    begins = source.begins_word[ids]
    cuts = [0]
    while len(ids) - cuts[-1] > room:
        first, last = cuts[-1] + 1, cuts[-1] + room
        words = np.flatnonzero(begins[first : last + 1])
        cuts.append(first + words[-1] if len(words) else last)
    parts = np.split(ids, cuts[1:]) if len(ids) else []
    return [np.concatenate([lead, part]) for part in parts]
