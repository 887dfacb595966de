"""Divides texts with markup into segments to translate and markup to keep unchanged."""

import bisect
import itertools
from typing import NamedTuple

from pipelines.markup.html_elements import BLOCKS
from pipelines.markup.markup_tokens import IN_TEXT, MarkupTokenizer

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


def every(marks):
    """Yields marks and the marks inside them."""
    for mark in marks:
        yield mark
        yield from every(mark.children)


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


class Document(MarkupTokenizer):
    """A document with markup that is read in parts of one or more lines.

    Comments, tags and elements may span parts, so how one is divided depends on earlier ones.
    """

    def pieces_of(self, part):
        """Returns `Segment`s to translate and strings to keep unchanged for the next part."""
        return divided(inline_tokens(self.tokens(part), self.markup), ("divider",))


def pieces_of(text, markup):
    """Returns `Segment`s to translate and strings to keep unchanged of a text with markup."""
    return Document(markup, IN_TEXT).pieces_of(text)


def divided(tokens, kinds):
    """Returns the pieces of tokens, divided at the tokens of some kinds."""
    pieces, group = [], []
    for token in tokens:
        if token.kind in kinds:
            pieces += [*pieces_between(group), token.raw]
            group = []
        else:
            group.append(token)
    return pieces + pieces_between(group)


def inline_tokens(tokens, markup):
    """Returns the tokens. Tags of XML elements outside running text become dividers.

    An XML element is part of running text if its parent also directly contains text.
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

    def is_outside(token):  # at the edge of a segment, such as a comment
        return token.kind == "empty" or (token.kind in ("text", "space") and not token.raw.strip())

    before = [token.raw for token in itertools.takewhile(is_outside, tokens)]
    tokens = tokens[len(before) :]
    after = [token.raw for token in itertools.takewhile(is_outside, reversed(tokens))]
    tokens = tokens[: len(tokens) - len(after)]
    if not tokens:
        return before + after[::-1]
    segment, raw = segment_of(tokens), "".join(token.raw for token in tokens)
    if segment is None:
        pieces = divided(tokens, ("open", "close"))
    elif not segment.text.strip() or (segment.marks and not any(map(str.isalnum, segment.text))):
        pieces = [raw]
    else:
        pieces = [spaces_outside(segment)._replace(raw=raw)]
    return before + pieces + after[::-1]


def segment_of(tokens):
    """Returns the `Segment` of tokens, or None if elements overlap or are nested too deep.

    Tags may lack a partner.
    """
    parts, length, strays = [], 0, 0
    open = [("", "", 0, [])]  # (name, open tag, its offset, the marks inside it)

    def close(after, edge=""):
        _, before, start, inside = open.pop()
        mark = Mark(start, length, before, after, edge=edge, children=tuple(inside))
        open[-1][-1].append(mark)

    for token in tokens:
        if token.kind == "text":
            parts.append(token.value)
        elif token.kind == "open":
            open.append((token.value, token.raw, length, []))
        elif token.kind == "close" and len(open) > 1:
            if open[-1][0] != token.value:
                return None
            close(token.raw)
        elif token.kind == "close":
            strays += 1
            marks = open[0][-1]
            marks[:] = [Mark(0, length, "", token.raw, edge="start", children=tuple(marks))]
        else:
            kind = "element" if token.kind == "empty" else token.kind
            open[-1][-1].append(Mark(length, length, token.raw, kind=kind))
            parts += [" "] * (kind == "space")
        if len(open) - 1 + strays > DEEPEST:
            return None
        length += len(parts[-1]) if token.kind in ("text", "space") else 0
    while len(open) > 1:
        close("", edge="end")
    return Segment("".join(parts), tuple(open[0][-1]))


def spaces_outside(segment):
    """Moves the spaces around a segment's text to its `before` and `after`.

    If a comma follows a placeholder, the space before the placeholder is removed, and restored
    together with the placeholder.
    """
    text = segment.text
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    dropped = {*range(first), *range(last, len(text))}
    for mark in every(segment.marks):
        at = mark.start - 1  # of a space before the placeholder
        is_gap = mark.kind == "placeholder" and first <= at < last and text[at] == " "
        if is_gap and text[at - 1 : at].isalnum() and text.startswith(CLOSING, mark.start):
            dropped.add(at)
    kept = "".join(each for at, each in enumerate(text) if at not in dropped)
    marks = moved(segment.marks, text, sorted(dropped))
    # A space between a placeholder and the text is not one of the outer spaces.
    points = [mark.start for mark in every(segment.marks) if mark.start == mark.end]
    before, after = text[: min([first, *points])], text[max([last, *points]) :]
    return Segment(kept, marks, before=before, after=after)


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
