"""Places the marks of a source text, such as tags and placeholders, in its translation.

In the translation, an element encloses the span with the most words that are aligned with its
source words, and the fewest other words. Nested elements stay nested, and siblings do not overlap.
With any alignment, every mark is therefore written once, and nested as in the source.
"""

import bisect
import itertools
import re
from typing import NamedTuple

from pipelines.markup.marked_text import every
from t2t_keras.translating.words import located

# A word without the punctuation around it. The signs in "5%", "C++" and "{x}" belong to the word.
CORE = re.compile(r"[\w%@#&$€£{}<>=+*/\\~^|](?:.*[\w%@#&$€£{}<>=+*/\\~^|])?", re.DOTALL)
NEAR = 5  # maximum words between a mark and the aligned word that determines its place
OPENS = tuple("([{«„“‚¿¡")
ADDRESS = re.compile(r"://|@|^www\.|^mailto:")  # letters after it would become part of it
ENDS_A_WORD = re.compile(r"[,.;:!?)\]»”’'\"…、。，]*(?:\s|\Z)")


class Unit(NamedTuple):
    """A part of a source or target word. No mark divides a unit of a source word."""

    start: int  # offset in the text
    end: int
    role: str  # "core", or "before" or "after" for the punctuation around a word


def marked_text(segment, translation, source_words, target_words, pairs, escape=str):
    """Returns a translation with the marks of its source, a `Segment`.

    Args:
        segment, translation: the `Segment`, which has marks, and the translation of its text.
        source_words, target_words: the words to which the indices in `pairs` refer.
        pairs: (source word, target word) indices. If empty, words are linked in order.
        escape: function that escapes text between marks.
    """
    placed = Placement(segment, translation, source_words, target_words, pairs)
    return Writer(translation, placed.units, escape).write(placed.arranged())


def divided(text, span, cuts):
    """Returns the `Unit`s of the word at a span of a text, which is divided at sorted offsets."""
    start, end = span
    core = CORE.search(text, start, end)
    inner = core.span() if core else (start, end)
    edges = sorted({start, *inner, *(cut for cut in cuts if start < cut < end), end})
    return [
        Unit(one, other, "before" if other <= inner[0] else "after" if one >= inner[1] else "core")
        for one, other in itertools.pairwise(edges)
    ]


class Placement:
    """Computes the place of each mark in a translation."""

    def __init__(self, segment, translation, source_words, target_words, pairs):
        self.segment = segment
        starts = sorted(mark.start for mark in every(segment.marks))
        ends = sorted(mark.end for mark in every(segment.marks))
        cuts = sorted({*starts, *ends})
        source = located(segment.text, source_words)
        target = located(translation, target_words)
        by_word, sources = [], []  # the indices of each source word's units; the units
        for span in source:
            inside = cuts[bisect.bisect_right(cuts, span[0]) : bisect.bisect_left(cuts, span[1])]
            parts = divided(segment.text, span, inside)
            by_word.append(range(len(sources), len(sources) + len(parts)))
            sources += parts
        self.starts, self.ends = [unit.start for unit in sources], [unit.end for unit in sources]

        def rank(index):
            """Ranks a source unit by the number of marks around it, then by its length."""
            at, end, _ = sources[index]
            return bisect.bisect_right(starts, at) - bisect.bisect_right(ends, at), end - at

        self.units, linked = [], []  # the target units, and the source unit of each or None
        for span, link in zip(target, links_of(pairs, len(source), len(target)), strict=True):
            if span[0] == span[1]:
                continue
            indices = by_word[link] if link is not None else ()
            first = sources[indices[0]].start if indices else 0
            word = segment.text[first : sources[indices[-1]].end] if indices else None
            if word == translation[slice(*span)]:
                for unit in (sources[index] for index in indices):
                    moved = [at - first + span[0] for at in unit[:2]]
                    self.units.append(Unit(*moved, unit.role))
                linked += indices
                continue
            for unit in divided(translation, span, []):
                self.units.append(unit)
                same = [index for index in indices if sources[index].role == unit.role]
                same = same or indices if unit.role == "core" else same
                linked.append(max(same, key=rank, default=None))
        self.targets = [[] for _ in sources]  # the target units of each source unit
        for index, link in enumerate(linked):
            if link is not None:
                self.targets[link].append(index)
        # Number of linked units before each unit.
        self.before = [*itertools.accumulate((link is not None for link in linked), initial=0)]

    def arranged(self):
        """Returns the marks as (start, end, mark, marks inside); start and end are unit indices."""
        whole = (0, len(self.starts))
        return self.arrange(self.segment.marks, (0, len(self.units)), whole)

    def arrange(self, marks, room, source):
        """Places sibling marks, which are in the order of the source.

        `room` is the start and end of the units that the marks may enclose, and `source` of the
        source units that contain them.
        """
        ranges = [self.source_range(mark) for mark in marks]
        spans = [None] * len(marks)
        for index, mark in enumerate(marks):
            if mark.edge:
                start, end = spans[index] = self.at_edge(mark.edge, ranges[index], room)
                room = (end, room[1]) if mark.edge == "start" else (room[0], start)
        taken = []
        counts = [end - start for start, end in ranges]
        for index in sorted(range(len(marks)), key=lambda index: -counts[index]):
            if spans[index] is None and counts[index]:
                spans[index] = self.stretch(ranges[index], room, source, taken)
                if spans[index] is not None:
                    bisect.insort(taken, spans[index])
        for index, mark in enumerate(marks):
            if spans[index] is None:
                at = outside(self.near(mark, ranges[index], room, source), taken)
                spans[index] = at, at
                if counts[index] and at < room[1] and not any(s <= at < e for s, e in taken):
                    spans[index] = at, at + 1  # one word, because an empty link cannot be clicked
                    bisect.insort(taken, spans[index])
        order = sorted(range(len(marks)), key=lambda index: (spans[index], index))
        return [
            (*spans[i], marks[i], self.arrange(marks[i].children, spans[i], ranges[i]))
            for i in order
        ]

    def source_range(self, mark):
        """Returns start and end of the source units inside a mark."""
        start = bisect.bisect_left(self.starts, mark.start)
        return start, max(start, bisect.bisect_right(self.ends, mark.end))

    def inside(self, source, room):
        """Returns the target units of a range of source units that lie inside the room."""
        first, end = room
        return sorted(t for s in range(*source) for t in self.targets[s] if first <= t < end)

    def at_edge(self, edge, source, room):
        """Returns the units of an element that begins or ends outside the segment."""
        first, end = room
        inside = self.inside(source, room)
        best, cut = 0, first if edge == "start" else end
        if source == (0, len(self.starts)):
            return room
        for count, unit in enumerate(inside if edge == "start" else inside[::-1], start=1):
            around = (first, unit + 1) if edge == "start" else (unit, end)
            linked = self.before[around[1]] - self.before[around[0]]
            if 2 * count - linked > best:
                best, cut = 2 * count - linked, around[edge == "start"]
        return (first, cut) if edge == "start" else (cut, end)

    def stretch(self, source, room, parent, taken):
        """Returns start and end of the units that an element encloses, or None without links."""
        if source == parent and not taken:
            return room if room[0] < room[1] else None
        best = score = 0
        start = last = span = None
        for unit in self.inside(source, room):
            after = bisect.bisect_right(taken, (unit, len(self.units)))
            if after and taken[after - 1][1] > unit:
                continue
            if last is not None:
                between = self.before[unit] - self.before[last + 1]
                free = bisect.bisect_right(taken, (last, len(self.units))) == after
                score = score - between if free else 0
            if last is None or score <= 0:
                start, score = unit, 0
            score, last = score + 1, unit
            if score > best:
                best, span = score, (start, unit + 1)
        return span

    def near(self, mark, source, room, parent):
        """Returns the index of the unit before which a mark without words is placed."""
        first, end = room
        at = source[0]
        touches = mark.kind == "placeholder" and not mark.spaced[0]
        for distance in range(NEAR):
            sides = [("next", at + distance), ("previous", at - 1 - distance)]
            for side, unit in reversed(sides) if touches else sides:
                if parent[0] <= unit < parent[1]:
                    found = [t for t in self.targets[unit] if first <= t < end]
                    if found:
                        return found[0] if side == "next" else found[-1] + 1
        share = (at - parent[0]) / max(parent[1] - parent[0], 1)
        return first + round((end - first) * min(max(share, 0), 1))


def links_of(pairs, sources, targets):
    """Returns the source word of each target word, or None."""
    links = [None] * targets
    if not pairs and sources:
        return [index * sources // targets for index in range(targets)]
    for source, target in pairs:
        if links[target] is None:
            links[target] = source
    return links


def outside(at, taken):
    """Returns the index nearest to `at` that is not inside any of the spans `taken`."""
    index = bisect.bisect_right(taken, (at, 0)) - 1
    if index < 0 or not taken[index][0] < at < taken[index][1]:
        return at
    start, end = taken[index]
    return start if at - start < end - at else end


class Writer:
    """Writes a translation, which consists of `Unit`s, with its marks."""

    def __init__(self, text, units, escape):
        self.text, self.units, self.escape = text, units, escape
        self.written, self.at, self.last = [], 0, ""  # pieces, offset in the text, last character

    def write(self, arranged):
        self.write_inside(arranged, len(self.units))
        self.up_to(len(self.text))
        return "".join(self.written)

    def write_inside(self, arranged, end):
        for start, stop, mark, inside in arranged:
            self.up_to_unit(start, end, mark)
            self.mark(mark, mark.before)
            self.write_inside(inside, stop)
            if stop > start:
                self.up_to(self.units[stop - 1].end)
            self.add(mark.after)

    def up_to_unit(self, index, end, mark):
        """Writes the text before a unit, or only up to the previous unit if the mark follows it."""
        if index:
            self.up_to(self.units[index - 1].end)
        follows = mark.kind == "space" or (mark.kind == "placeholder" and not mark.spaced[0])
        if index < end and not follows:
            self.up_to(self.units[index].start)

    def up_to(self, end):
        text = self.text[self.at : end]
        if text:
            self.written.append(self.escape(text))
            self.at, self.last = end, text[-1]

    def mark(self, mark, text):
        if mark.kind == "placeholder":
            if self.needs_space(mark, text):
                self.written.append(" ")
            self.add(text)
            apart = mark.spaced[1] or ADDRESS.search(text)
            if apart and not ENDS_A_WORD.match(self.text, self.at):
                self.add(" ")
            return
        self.add(text)
        if mark.kind == "space" and self.text[self.at : self.at + 1].isspace():
            self.at += 1  # the mark replaces the space

    def needs_space(self, mark, text):
        if not self.last or self.last.isspace() or self.last in OPENS:
            return False
        if mark.spaced[0] or self.last in "%$#{" or ADDRESS.search(self.written[-1]):
            return True
        return self.last.isalnum() and text[0].isalnum()

    def add(self, text):
        if text:
            self.written.append(text)
            self.last = text[-1]
