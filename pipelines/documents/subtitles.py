"""SubRip, WebVTT and ASS subtitles. A sentence that spans cues is translated as a whole."""

import itertools
import re

from pipelines.documents.document import DocumentError, Unit, has_letters, held, kind_of

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


def read_subtitles(document, options):
    text = document.text
    is_ass = re.match(r"\s*\[Script Info\]", text) is not None
    cues = [lines_of(text, *span) for span in (ass_cues(text) if is_ass else timed_cues(text))]
    if not cues:
        raise DocumentError("it has no cue with a text")
    group, texts = [], [*map(document.joined, cues)]
    for lines, cue, following in zip(cues, texts, [*texts[1:], None], strict=True):
        group.append(lines)
        ends = following is None or len(group) == LONGEST or ENDS.search(cue)
        if ends or STYLE.search(cue + following) or BEGINS.match(following):
            spans = [*itertools.chain(*group)]
            source, restored = held(document.joined(spans), ASS_STYLE)
            is_text = has_letters(STYLE.sub("", source))
            document.add_lines(spans, Unit(source, kind_of(source)) if is_text else None, restored)
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


def lines_of(text, start, end):
    """Returns the spans of a cue's lines, without the styles, dashes and spaces around its text."""
    start = EDGE.match(text, start, end).end()
    end = max(start, END_EDGE.search(text, start, end).start())
    breaks = [each.span() for each in LINE_BREAK.finditer(text, start, end)]
    edges = [start, *itertools.chain(*breaks), end]
    return [*zip(edges[::2], edges[1::2], strict=True)]
