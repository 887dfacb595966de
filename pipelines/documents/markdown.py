"""Markdown. markdown-it-py finds the blocks; emphasis, code, links and HTML in them become tags."""

import re

from pipelines.documents.document import DocumentError
from pipelines.documents.inline import Inline

FRONT = re.compile(r"\A(?:---\r?\n.*?\r?\n(?:---|\.\.\.)\r?\n)?", re.S)
TITLES = re.compile(r"^(?:title|description|summary|subtitle):[ \t]*([\"']?)(.+?)\1[ \t\r]*$", re.M)
CODE = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
INSIDE = r"(?>\\.|`[^`]*`|\*\*[^*]+\*\*|.)"  # what stands between two marks of emphasis
TARGET = r"\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\[\]]*\]"
TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    rf"|(?P<shown>{CODE}|\$\$.+?\$\$|(?<![\w$])\$(?=\S)[^$\n]*(?<=\S)\$(?!\d))"  # code and formulas
    r"|(?P<hidden><!--.*?-->|<[\w.+-]+(?::|@)[^\s<>]*>"  # comments and addresses
    r"|\A\[\^[^\]\s]+\]:\s*|\[\^[^\]\s]+\]|\A\[[ xX]\]"  # notes and check boxes
    r"|(?:[ ]{2,}|\\)\n)"  # line breaks that stay
    rf"|!?\[(?P<label>(?:[^\[\]\\`]|\\.|`[^`]*`|!?\[[^\[\]]*\](?:{TARGET})?)*)\](?:{TARGET})?"
    r"|(?P<mark>(?<!\w)_{1,3}|\*{1,3}|~~)(?=[^\s*])"
    rf"(?P<marked>{INSIDE}+?)(?<!\s)(?P=mark)(?!\*|(?<=_)\w)"
    r"|<(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?(?<!/)>(?P<enclosed>.*?)</(?P=name)>"
    r"|(?P<tag></?[A-Za-z][^<>]*>)",
    re.S,
)
MOST_WORK = 2e8  # maximum sum of the paragraphs' lengths times their marks: about 10 seconds
SPECIAL = re.compile(r"[*`\\]|(?<!\w)_|_(?!\w)")
BLOCK = re.compile(r"(?:[-+*>#|]|\d+[.)]|=+$)(?:\s|\Z)|```|~~~|<")  # what begins a different block


def read_markdown(document, options):
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise DocumentError("Markdown needs pip install 't2t-keras[documents]'") from None
    text, at = document.text, FRONT.match(document.text).end()
    for match in TITLES.finditer(text, 0, at):
        document.add_text(*match.span(2))
    starts = [at, *(each.end() for each in re.compile(r"\r\n?|\n").finditer(text, at)), len(text)]
    placed = work = 0  # end of the last place: the cells of a row have one line
    for token in MarkdownIt("commonmark").enable("table").disable("inline").parse(text[at:]):
        if token.type == "inline" and token.content:
            start, end = (starts[line] for line in token.map)
            spans = located(text, token.content, max(placed, start), end)
            if spans is None:
                document.skipped["not found in the file"] += 1
                continue
            placed = spans[-1][1]
            work += len(token.content) * sum(map(token.content.count, "[<*_~`$"))
            if work > MOST_WORK:
                raise DocumentError("it has long paragraphs with too many marks such as * and [")
            add_block(document, token.content, spans)


def located(text, content, at, end):
    """Returns the span of each line of a block's content in the file, or None."""
    spans = []
    for line in content.split("\n"):
        start = text.find(line, at, end)
        if start < 0:
            return None
        at = start + len(line)
        spans.append((start, at))
    return spans


def add_block(document, content, spans):
    """Adds the place of a paragraph, a heading, an item or a cell."""
    text = document.text
    row = text[text.rfind("\n", 0, spans[0][0]) + 1 : spans[0][0]]
    escaped = {*re.findall(r"\\([!-/:-@\[-`{-~])", content), *"|" * ("|" in row)}
    special = re.compile("|".join([SPECIAL.pattern, *map(re.escape, escaped)]))
    inline = Inline(lambda text: special.sub(r"\\\g<0>", text))
    fill(inline, content)
    document.add_lines(spans, inline.unit, inline.written, BLOCK)


def fill(inline, content):
    """Adds a text with its marks to an `Inline`."""
    at = 0
    for match in TOKEN.finditer(content):
        inline.text(content[at : match.start()].replace("\n", " "))
        at = match.end()
        inner = next((each for each in ("label", "marked", "enclosed") if match[each]), None)
        if match["escaped"]:
            inline.text(match["escaped"])
        elif inner:
            start, end = match.span(inner)
            with inline.element(content[match.start() : start], content[end:at]):
                fill(inline, match[inner])
        else:
            inline.code(match[0], bool(match["shown"]))
    inline.text(content[at:].replace("\n", " "))
