"""SubRip, WebVTT and ASS subtitles. A sentence that spans cues is translated as a whole."""

import itertools
import re
from typing import NamedTuple

from pipelines.documents.document import (
    DocumentError,
    Template,
    Unit,
    decoded,
    divided,
    has_letters,
    held,
)

TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
CUE = re.compile(
    rf"^{TIME}[ \t]*-->[ \t]*{TIME}[^\n]*\n(?P<text>(?:(?!.*-->)[^\n]*\S[^\n]*(?:\n|\Z))+)", re.M
)
EDGE = re.compile(r"(?:\{\\[^}]*\}|<[^>\n]*>|\s|[-–—] ?(?=\S)|♪)*")  # styles, speaker's dash, note
END_EDGE = re.compile(r"(?:\{\\[^}]*\}|</[^>\n]*>|\s|♪)*\Z")
ASS_STYLE = re.compile(r"\{\\[^}]*\}")
STYLE = re.compile(rf"{ASS_STYLE.pattern}|<[^>\n]*>")
ENDS = re.compile(r"[.!?…。！？:][\"'”’»)\]]*\Z")
LONGEST = 4  # maximum number of cues that share a sentence


class Cue(NamedTuple):
    """The text of a cue: its start and end in the file, and the text itself, on one line."""

    start: int
    end: int
    text: str


def read_subtitles(data, options):
    text, encode = decoded(data)
    template = Template(text)
    is_ass = re.match(r"\s*\[Script Info\]", text) is not None
    cues = [*(ass_cues(text) if is_ass else timed_cues(text))]
    if not cues:
        raise DocumentError("it has no cue with a text")
    lines = "\\N" if is_ass else "\r\n" if "\r\n" in text else "\n"
    group = []
    for cue, following in zip(cues, [*cues[1:], None], strict=True):
        group.append(cue)
        joined = following is not None and is_plain(cue) and is_plain(following)
        if not joined or ENDS.search(cue.text) or len(group) == LONGEST or begins_anew(following):
            add_group(template, group, lines)
            group = []
    return template, encode


def timed_cues(text):
    for match in CUE.finditer(text):
        speakers = [*re.finditer(r"^[-–—].+$", match["text"], re.M)]
        if len(speakers) < 2:
            yield cue_of(text, *match.span("text"))
        for each in speakers if len(speakers) > 1 else ():
            start, end = each.span()
            yield cue_of(text, match.start("text") + start, match.start("text") + end)


def ass_cues(text):
    """Yields the cues of ASS or SSA, whose text is the last field of a line."""
    form = re.search(r"\[Events\][^\[]*?^Format:([^\n]*)$", text, re.M)
    fields = form[1].count(",") if form else 9
    for match in re.finditer(rf"^Dialogue:(?:[^,\n]*,){{{fields}}}([^\r\n]*)", text, re.M):
        if not re.search(r"\{[^}]*\\p[1-9]", match[1]):  # a drawing
            yield cue_of(text, *match.span(1))


def cue_of(text, start, end):
    """Returns the `Cue` without the styles, dashes and spaces around its text."""
    start = EDGE.match(text, start, end).end()
    end = max(start, END_EDGE.search(text, start, end).start())
    return Cue(start, end, " ".join(re.split(r"\s*(?:\\[Nn]|\s)\s*", text[start:end])))


def is_plain(cue):
    return not STYLE.search(cue.text)


def begins_anew(cue):
    """Returns whether a cue does not continue a sentence: a speaker's dash or a label begins it."""
    return bool(re.match(r"[-–—\[(♪]|[A-Z]+:", cue.text))


def add_group(template, group, line_break):
    """Adds the place of a sentence and of the cues that share it."""
    source = " ".join(cue.text for cue in group)
    if not has_letters(STYLE.sub("", source)):
        template.skip("without letters", len(group))
        return
    start, end, raw = group[0].start, group[-1].end, template.text
    sizes = [len(cue.text) for cue in group]
    counts = [len(re.findall(r"\\[Nn]|\n", raw[cue.start : cue.end])) + 1 for cue in group]
    between = [raw[one.end : other.start] for one, other in itertools.pairwise(group)]
    markup = "html" if "<" in source else "placeholders"
    text, restored = held(source, ASS_STYLE)

    def written(translations):
        parts = divided(restored(*translations), sizes)
        lines = [
            line_break.join(divided(part, [1] * count))
            for part, count in zip(parts, counts, strict=True)
        ]
        return "".join(map("".join, zip(lines, [*between, ""], strict=True)))

    template.add(start, end, [Unit(text, markup)], written)
