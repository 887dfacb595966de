"""Divides texts into sentences, and sentences that are too long for a search into parts.

The function that splits texts is an argument. It returns the sentences of a text and the separators
between them. A language code such as >>de<< before a text applies to all of its sentences. Ids that
apply to a whole sentence are repeated at the beginning of each part.
"""

import collections
import unicodedata

import numpy as np

# Punctuation marks after which a sentence is cut in two. Marks in the first string are preferred.
CUT_AFTER = (".!?…。！？", ";:,，；：、")


def whole(text):
    """Returns the whole text as one sentence, with no separators."""
    return [text], []


def with_codes(sentences, split_code):
    """Puts a language code before each sentence that has none: the last code earlier in the text.

    Args:
        sentences: the sentences of a text.
        split_code: function that takes a sentence and returns the language code at its beginning,
            or "", and the rest.
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
        joined += (separator or space_after(before)) + after
    return joined


def on_one_line(text):
    """Replaces line breaks with spaces: a model may write them as byte pieces."""
    return text.replace("\r", " ").replace("\n", " ")


def space_after(text):
    """Returns the separator after a sentence if the source, such as Chinese, has none there."""
    return "" if not text or is_wide(text[-1]) else " "


def is_wide(character):
    """Returns whether a character is as wide as Chinese characters, which no space follows."""
    return unicodedata.east_asian_width(character) in "FWH"


def parts_of(ids, source, longest):
    """Splits the ids of a sentence into parts of at most `longest` ids, as long as possible.

    Args:
        ids: ids of the sentence. A sentence without text has no parts.
        source: the tokenizer of the source language; see `Translator`.
        longest: maximum number of ids in a part.
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


def halves_of(ids, source):
    """Cuts a part near its middle, after a punctuation mark or else between words.

    Args:
        ids, source: see `parts_of`.

    Returns:
        A list of two parts, or of the part itself if it is a single piece.
    """
    lead, ids = np.split(ids, [source.lead(ids)])
    if len(ids) < 2:
        return [np.concatenate([lead, ids])]
    cuts = np.arange(1, len(ids))
    between_words = cuts[source.begins_word[ids[1:]]]
    central = between_words[abs(4 * between_words - 2 * len(ids)) <= len(ids)]
    ends = [piece[-1:] for piece in source.pieces(ids[central - 1])]
    after = [central[np.isin(ends, list(marks))] for marks in CUT_AFTER]
    cuts = next(filter(len, [*after, between_words]), cuts)
    middle = cuts[np.argmin(abs(2 * cuts - len(ids)))]
    return [np.concatenate([lead, half]) for half in np.split(ids, [middle])]


def parts_with_phrases(ids, phrases, matches, glossary, source, longest, encoder):
    """Divides a sentence if it, or its glossary phrases, are too long for one search.

    Each part gets the glossary phrases of its words. The first part also gets the phrases of the
    request itself, and the phrases of words that the division separates.

    Args:
        ids: ids of the sentence.
        phrases: phrases that its translation must contain.
        matches: its `Matches`.
        glossary: the `Glossary`, or None.
        source: the tokenizer of the source language.
        longest: maximum number of ids in a part.
        encoder: a `PhraseEncoder`.

    Returns:
        A list of (ids, phrases, `Matches`), one for each part.
    """
    parts = parts_of(ids, source, longest)
    if not phrases:
        return [(part, [], matches) for part in parts]
    if not parts:
        raise ValueError(
            f"the translation of an empty text is empty, so it cannot contain {phrases[0]!r}. "
            "Require nothing of it"
        )
    if len(parts) == 1 and not encoder.are_long(phrases):
        return [(parts[0], phrases, matches)]
    count = 0
    while count < len(parts):
        count, others, found = len(parts), collections.Counter(phrases), []
        for part in parts:
            (text,) = source.decode([part[source.lead(part) :]])
            matches = glossary.matches_in(text) if glossary else matches
            of_part = collections.Counter(matches.targets()) & others
            others -= of_part
            found.append((part, [*of_part.elements()], matches))
        parts = [
            half
            for part, of_part, _ in found
            for half in (halves_of(part, source) if encoder.are_long(of_part) else [part])
        ]
    found[0][1].extend(others.elements())
    return found
