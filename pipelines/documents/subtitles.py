"""SubRip, WebVTT and ASS subtitles. A sentence that spans cues is translated as a whole."""

import functools
import itertools
import re
from typing import NamedTuple

from pipelines.documents.document import DocumentError, has_letters, held, kind_of

TIME = r"-?\d+:[\d:.,]+"
NEXT = r"(?:\d+[ \t\r]*\n)?.*-->"  # the beginning of a cue
CUE = re.compile(rf"^{TIME}[ \t]*-->[ \t]*{TIME}.*\n(?P<text>(?:(?!{NEXT}).*\S.*(?:\n|\Z))+)", re.M)
EDGE = re.compile(r"(?:\{\\[^{}]*\}|<[^<>\n]*>|\s|[-–—] ?(?=\S)|♪)*")  # styles, dash, note
END_EDGE = re.compile(r"(?:\{\\[^{}]*\}|</[^<>\n]*>|\s|♪){0,99}\Z")
ASS_STYLE = r"\{\\[^{}]*\}|\\h"
STYLE = re.compile(rf"{ASS_STYLE}|<[^<>\n]*>")
LINE_BREAK = re.compile(r"(?:(?<!\s)\s+)?(?:\\[Nn]|\n)\s*")
ENDS = re.compile(r"[.!?…。！？:][\"'”’»)\]]*\Z")
BEGINS = re.compile(r"[-–—\[(♪]|[A-Z]+:")  # a speaker's dash or label
LONGEST = 4  # maximum number of cues that share a sentence


class Cue(NamedTuple):
    """The text of a cue, on one line, and the start and end of each of its lines in the file."""

    spans: list
    text: str


def read_subtitles(document, options):
    text = document.text
    is_ass = re.match(r"\s*\[Script Info\]", text) is not None
    cues = [*map(functools.partial(cue_of, text), ass_cues(text) if is_ass else timed_cues(text))]
    if not cues:
        raise DocumentError("it has no cue with a text")
    group = []
    for cue, following in itertools.zip_longest(cues, cues[1:]):
        group.append(cue)
        ends = following is None or len(group) == LONGEST or ENDS.search(cue.text)
        if ends or STYLE.search(cue.text + following.text) or BEGINS.match(following.text):
            add_group(document, group)
            group = []


def timed_cues(text):
    """Yields start and end of the text of each cue, or of each speaker in it."""
    for match in CUE.finditer(text):
        start, end = match.span("text")
        speakers = [*re.compile(r"^[-–—].+$", re.M).finditer(text, start, end)]
        yield from [each.span() for each in speakers] if len(speakers) > 1 else [(start, end)]


def ass_cues(text):
    """Yields start and end of the text of ASS or SSA, which is the last field of a line."""
    form = re.search(r"\[Events\][^\[]*?^Format:([^\n]*)$", text, re.M)
    fields = form[1].count(",") if form else 9
    for match in re.finditer(rf"^Dialogue:(?:[^,\n]*,){{{fields}}}([^\r\n]*)", text, re.M):
        if not re.search(r"\{[^{}]*\\p[1-9]", match[1]):  # a drawing
            yield match.span(1)


def cue_of(text, span):
    """Returns the `Cue` without the styles, dashes and spaces around its text."""
    start = EDGE.match(text, *span).end()
    end = max(start, END_EDGE.search(text, start, span[1]).start())
    breaks = [each.span() for each in LINE_BREAK.finditer(text, start, end)]
    edges = [start, *itertools.chain(*breaks), end]
    spans = [*zip(edges[::2], edges[1::2], strict=True)]
    return Cue(spans, " ".join(text[slice(*span)] for span in spans))


def add_group(document, group):
    """Adds the place of a sentence and of the cues that share it."""
    source = " ".join(cue.text for cue in group)
    if not has_letters(STYLE.sub("", source)):
        document.skipped["without letters"] += len(group)
        return
    spans = [span for cue in group for span in cue.spans]
    text, restored = held(source, ASS_STYLE)

    def written(translation):
        return document.spread(restored(translation), spans)

    document.add_text(spans[0][0], spans[-1][1], text, written, kind_of(text))
