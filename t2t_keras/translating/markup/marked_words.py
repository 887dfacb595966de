"""Divides the words of a source text, and of its translation, at marks and punctuation."""

import itertools
import re
from typing import NamedTuple

# A word without the punctuation around it. The signs in "5%", "C++" and "{x}" belong to the word.
CORE = re.compile(r"[\w%@#&$€£{}<>=+*/\\~^|](?:.*[\w%@#&$€£{}<>=+*/\\~^|])?", re.DOTALL)
LOST = 64  # maximum characters between a word and the previous word


class Unit(NamedTuple):
    """A part of a source or target word. No mark divides a unit of a source word.

    Args:
        start, end: offsets in the text.
        role: "core", or "before" or "after" for the punctuation around a word.
    """

    start: int
    end: int
    role: str


def located(text, words):
    """Returns the (start, end) of each word in a text.

    A word that the text does not contain, such as an unknown word, gets the text between the
    neighboring words.
    """
    spans, at = [], 0
    for word in words:
        word = word.strip()
        found = text.find(word, at, at + len(word) + LOST)
        spans.append((found, found + len(word)) if found >= 0 else None)
        at = at if found < 0 else found + len(word)
    following, end = [], len(text)
    for span in reversed(spans):
        following.append(end)
        end = span[0] if span else end
    at, filled = 0, []
    for span, end in zip(spans, reversed(following), strict=True):
        filled.append(span or trimmed(text, at, end))
        at = filled[-1][1]
    return filled


def trimmed(text, start, end):
    """Returns a span without the spaces around it."""
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    return start, max(start, start + len(inside.strip()))


def divided(text, span, cuts):
    """Returns the `Unit`s of a word.

    Args:
        text: the text that contains the word.
        span: the word's start and end.
        cuts: offsets at which the word is divided, in order.
    """
    start, end = span
    core = CORE.search(text, start, end)
    inner = core.span() if core else (start, end)
    edges = sorted({start, *inner, *(cut for cut in cuts if start < cut < end), end})
    return [
        Unit(one, other, "before" if other <= inner[0] else "after" if one >= inner[1] else "core")
        for one, other in itertools.pairwise(edges)
    ]


def linked_units(source, source_units, target, target_spans, links, depth):
    """Returns the `Unit`s of the translation, and for each the index of its source unit or None.

    Args:
        source, target: texts.
        source_units: the `Unit`s of each source word, as a list of (index, `Unit`).
        target_spans: the (start, end) of each target word.
        links: the source word of each target word, or None.
        depth: function that returns the number of marks around a source unit.
    """
    units, linked = [], []
    for span, link in zip(target_spans, links, strict=True):
        if span[0] == span[1]:
            continue
        parts = source_units[link] if link is not None else []
        first = parts[0][1].start if parts else 0
        if parts and source[first : parts[-1][1].end] == target[span[0] : span[1]]:
            units += [
                unit._replace(start=unit.start - first + span[0], end=unit.end - first + span[0])
                for _, unit in parts
            ]
            linked += [index for index, _ in parts]
            continue
        for unit in divided(target, span, []):
            units.append(unit)
            same = [(index, each) for index, each in parts if each.role == unit.role]
            linked.append(representative(same or parts * (unit.role == "core"), depth))
    return units, linked


def representative(parts, depth):
    """Returns the index of the part with the most marks around it; of several, the longest."""
    if not parts:
        return None
    return max(parts, key=lambda part: (depth(part[1]), part[1].end - part[1].start))[0]
