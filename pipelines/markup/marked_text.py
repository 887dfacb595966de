"""Divides texts with markup into segments to translate and markup to keep unchanged."""

import bisect
import itertools
from typing import NamedTuple

from pipelines.markup.html_elements import BLOCKS
from pipelines.markup.markup_tokens import MarkupTokenizer, tokens_of

MARKUP = ("html", "xml", "placeholders")
DEEPEST = 50  # maximum nesting of elements in a segment; deeper elements divide the text
CLOSING = tuple(",.;:!?)]}%»”…、。，")


class Mark(NamedTuple):
    """Markup inside a segment.

    Args:
        start, end: offsets of the enclosed text in the segment's text. They are equal if the mark
            encloses nothing.
        before, after: the markup before and after the enclosed text.
        kind: "element", "placeholder", "space" (instead of a space), or "hidden" (inside a word).
        edge: "start" if the element was opened before the segment, "end" if it is closed after it.
        spaced: (whether a space precedes a placeholder, whether a space follows it).
        children: the `Mark`s inside this mark, in order.
    """

    start: int
    end: int
    before: str
    after: str = ""
    kind: str = "element"
    edge: str = ""
    spaced: tuple = (False, False)
    children: tuple = ()

    def moved(self, offset):
        """Returns the mark for the text without its first `offset` characters."""
        return self._replace(
            start=max(self.start - offset, 0),
            end=max(self.end - offset, 0),
            children=tuple(each.moved(offset) for each in self.children),
        )


class Segment(NamedTuple):
    """A stretch of text to translate, without markup, and its `Mark`s.

    Args:
        text: a string.
        marks: `Mark`s, in order.
        raw: the stretch as written in the source, with markup.
        before, after: the spaces around the text.
    """

    text: str
    marks: tuple = ()
    raw: str = ""
    before: str = ""
    after: str = ""

    def without_start(self, count):
        """Returns the segment without its first `count` characters, which are a language code."""
        marks = tuple(each.moved(count) for each in self.marks)
        raw = self.raw.partition("<<")[2].lstrip() or self.raw
        return self._replace(text=self.text[count:], marks=marks, raw=raw)


def pieces_of(text, markup):
    """Divides a text with markup.

    Args:
        text: a string.
        markup: "html", "xml" or "placeholders".

    Returns:
        A list of `Segment`s to translate and strings to keep unchanged.
    """
    return pieces_of_tokens(tokens_of(text, markup), markup)


class Document:
    """A document with markup that is read in parts of one or more lines.

    Comments, tags and elements may span parts, so how one is divided depends on earlier ones.

    Args:
        markup: "html", "xml" or "placeholders".
    """

    def __init__(self, markup):
        self.tokenizer = MarkupTokenizer(markup)

    def pieces_of(self, part):
        """Divides the next part, like `pieces_of`."""
        return pieces_of_tokens(self.tokenizer.tokens(part), self.tokenizer.markup)


def pieces_of_tokens(tokens, markup):
    pieces, group = [], []
    for token in inline_tokens(tokens, markup):
        if token.kind == "divider":
            pieces += pieces_between(group)
            pieces.append(token.raw)
            group = []
        else:
            group.append(token)
    return pieces + pieces_between(group)


def inline_tokens(tokens, markup):
    """Returns the tokens. Tags of XML elements outside running text become dividers.

    An XML element is part of running text if its parent also contains text of its own.
    """
    if markup != "xml":
        return tokens
    has_text, parents, stack = [False], [], [0]
    for token in tokens:
        if token.kind == "close" and len(stack) > 1:
            stack.pop()
        elif token.kind == "close":
            stack[0] = len(has_text)
            has_text.append(False)
        parents.append(stack[-1])
        if token.kind in ("text", "placeholder") and token.raw.strip():
            has_text[stack[-1]] = True
        if token.kind == "open":
            stack.append(len(has_text))
            has_text.append(False)
    tags = ("open", "close", "empty")
    return [
        token._replace(kind="divider")
        if token.kind in tags and (not has_text[parent] or token.value in BLOCKS)
        else token
        for token, parent in zip(tokens, parents, strict=True)
    ]


def pieces_between(tokens):
    """Returns the pieces of the tokens between two dividers."""
    before = [token.raw for token in itertools.takewhile(is_outside, tokens)]
    tokens = tokens[len(before) :]
    after = [token.raw for token in itertools.takewhile(is_outside, reversed(tokens))]
    tokens = tokens[: len(tokens) - len(after)]
    return before + (pieces_inside(tokens) if tokens else []) + after[::-1]


def is_outside(token):
    """Returns whether a token at the edge of a segment, such as a comment, can stay outside it."""
    return token.kind == "empty" or (token.kind in ("text", "space") and not token.raw.strip())


def pieces_inside(tokens):
    """Returns the pieces of the tokens between two dividers, which begin and end with text."""
    if not well_nested(tokens):
        pieces, group = [], []
        for token in tokens:
            if token.kind in ("open", "close"):
                pieces += [*pieces_between(group), token.raw]
                group = []
            else:
                group.append(token)
        return pieces + pieces_between(group)
    segment = segment_of(tokens)
    raw = "".join(token.raw for token in tokens)
    if not segment.text.strip() or (segment.marks and not any(map(str.isalnum, segment.text))):
        return [raw]
    return [spaces_outside(segment)._replace(raw=raw)]


def well_nested(tokens):
    """Returns whether elements are properly nested and not too deep. Tags may lack a partner."""
    names, closed = [], 0
    for token in tokens:
        if token.kind == "open":
            names.append(token.value)
        elif token.kind == "close" and not names:
            closed += 1
        elif token.kind == "close" and names.pop() != token.value:
            return False
        if len(names) + closed > DEEPEST:
            return False
    return True


class Builder:
    """Builds a `Segment` token by token."""

    def __init__(self):
        self.parts, self.length = [], 0
        self.open = [("", 0, [])]  # (open tag, its offset, the marks inside it)

    def add(self, token):
        if token.kind == "text":
            self.add_text(token.value)
        elif token.kind == "open":
            self.open.append((token.raw, self.length, []))
        elif token.kind == "close" and len(self.open) > 1:
            self.close(token.raw)
        elif token.kind == "close":
            marks = self.open[0][2]
            marks[:] = [Mark(0, self.length, "", token.raw, edge="start", children=tuple(marks))]
        else:
            self.add_empty(token)

    def add_text(self, text):
        self.parts.append(text)
        self.length += len(text)

    def add_empty(self, token):
        kind = "element" if token.kind == "empty" else token.kind
        self.marks().append(Mark(self.length, self.length, token.raw, kind=kind))
        if token.kind == "space":
            self.add_text(" ")

    def marks(self):
        return self.open[-1][2]

    def close(self, after, edge=""):
        before, start, children = self.open.pop()
        mark = Mark(start, self.length, before, after, edge=edge, children=tuple(children))
        self.marks().append(mark)

    def segment(self):
        while len(self.open) > 1:
            self.close("", edge="end")
        return Segment("".join(self.parts), tuple(self.marks()))


def segment_of(tokens):
    builder = Builder()
    for token in tokens:
        builder.add(token)
    return builder.segment()


def spaces_outside(segment):
    """Moves the spaces around a segment's text to its `before` and `after`.

    If a comma follows a placeholder, the space before the placeholder is removed, and restored
    together with the placeholder.
    """
    text = segment.text
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    dropped = {*range(first), *range(last, len(text))}
    dropped.update(at for at in gaps(segment.marks, text) if first <= at < last)
    kept = "".join(each for at, each in enumerate(text) if at not in dropped)
    marks = moved(segment.marks, text, sorted(dropped))
    # A space between a placeholder and the text is not one of the outer spaces.
    points = [*empty_marks(segment.marks)]
    before, after = text[: min([first, *points])], text[max([last, *points]) :]
    return Segment(kept, marks, before=before, after=after)


def empty_marks(marks):
    """Yields the offsets of the marks that enclose nothing."""
    for mark in marks:
        if mark.start == mark.end:
            yield mark.start
        yield from empty_marks(mark.children)


def gaps(marks, text):
    """Yields the offsets of spaces that precede punctuation when placeholders are removed."""
    for mark in marks:
        yield from gaps(mark.children, text)
        word, space = (
            text[max(mark.start - 2, 0) : mark.start - 1],
            text[mark.start - 1 : mark.start],
        )
        alone = mark.kind == "placeholder" and word.isalnum() and space == " "
        if alone and text.startswith(CLOSING, mark.start):
            yield mark.start - 1


def moved(marks, text, removed):
    """Returns marks with offsets for the text without the characters at `removed`."""
    return tuple(
        mark._replace(
            start=mark.start - bisect.bisect_left(removed, mark.start),
            end=mark.end - bisect.bisect_left(removed, mark.end),
            spaced=(
                mark.start == 0 or text[mark.start - 1].isspace(),
                mark.start == len(text) or text[mark.start].isspace(),
            ),
            children=moved(mark.children, text, removed),
        )
        for mark in marks
    )
