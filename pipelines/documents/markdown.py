"""Markdown. markdown-it-py finds the blocks; emphasis, code, links and HTML in them become tags."""

import itertools
import re

from pipelines.documents.document import DocumentError, Template, decoded, divided
from pipelines.documents.inline import Inline

FRONT = re.compile(r"\A---\r?\n.*?\r?\n(?:---|\.\.\.)\r?\n", re.S)
TITLES = re.compile(r"^(?:title|description|summary|subtitle):[ \t]*([\"']?)(.+?)\1[ \t\r]*$", re.M)
TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # code
    r"|<!--.*?-->|<[\w.+-]+(?::|@)[^\s<>]*>"  # comments and addresses
    r"|\$\$.+?\$\$|(?<![\w$])\$(?=\S)[^$\n]*(?<=\S)\$(?!\d)"  # formulas
    r"|\A\[\^[^\]\s]+\]:\s*|\[\^[^\]\s]+\]|\A\[[ xX]\]"  # notes and check boxes
    r"|(?:[ ]{2,}|\\)\n)"  # line breaks that stay
    r"|(?P<html></?[A-Za-z][^<>]*>)"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\](?:\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\]]*\])?)"
    r"|(?P<emphasis>\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~)",
    re.S,
)
SPECIAL = re.compile(r"[*`\\]|(?<!\w)_|_(?!\w)")
BLOCK = re.compile(r"(?:[-+*>#|]|\d+[.)]|=+$)(?:\s|\Z)|```|~~~|<")  # what begins a different block


def read_markdown(data, options):
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise DocumentError("Markdown needs pip install 't2t-keras[documents]'") from None
    text, encode = decoded(data)
    template, front = Template(text), FRONT.match(text)
    at = front.end() if front else 0
    for match in TITLES.finditer(text, 0, at):
        template.add_text(*match.span(2), match[2])
    starts = [at]
    for line in text[at:].splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    placed = 0  # end of the last place: the cells of a row have one line
    for token in MarkdownIt("commonmark").enable("table").parse(text[at:]):
        if token.type == "inline" and token.content:
            spans = located(text, token.content, max(placed, starts[token.map[0]]))
            if spans is None:
                template.skip("not found in the file")
                continue
            placed = spans[-1][1]
            add_block(template, token.content, spans)
    return template, encode


def located(text, content, at):
    """Returns the span of each line of a block's content in the file, or None."""
    spans = []
    for line in content.split("\n"):
        start = text.find(line, at)
        if start < 0:
            return None
        at = start + len(line)
        spans.append((start, at))
    return spans


def add_block(template, content, spans):
    """Adds the place of a paragraph, a heading, an item or a cell."""
    text = template.text
    between = [text[one[1] : other[0]] for one, other in itertools.pairwise(spans)]
    row = text[text.rfind("\n", 0, spans[0][0]) + 1 : spans[0][0]]
    special = re.compile(SPECIAL.pattern + r"|\|" * ("|" in row))
    inline = Inline()
    fill(inline, tokens_of(content), iter(between))
    if not inline.units:
        template.skip("without letters")
        return
    sizes = [len(line) for line in content.split("\n")]

    def written(translations):
        found = inline.restored(*translations, lambda text: special.sub(r"\\\g<0>", text))
        parts = [found] if "\n" in found else divided(found, sizes)
        if any(map(BLOCK.match, parts[1:])):
            parts = [found]
        return "".join(map("".join, zip(parts, [*between[: len(parts) - 1], ""], strict=True)))

    template.add(spans[0][0], spans[-1][1], inline.units, written)


def tokens_of(content):
    """Returns the (kind, text) of the parts of a block."""
    tokens, at = [], 0
    for match in TOKEN.finditer(content):
        if match.start() > at:
            tokens.append(("text", content[at : match.start()]))
        tokens.append((match.lastgroup, match[0]))
        at = match.end()
    return [*tokens, ("text", content[at:])]


def partner_of(tokens):
    """Returns the index of the token that closes the first one, or None."""
    kind, text = tokens[0]
    depth = 0
    name = re.match(r"</?([A-Za-z][\w-]*)", text)
    for index, (other, each) in enumerate(tokens):
        if (
            kind == "emphasis"
            and index
            and each == text
            and not tokens[index - 1][1][-1:].isspace()
        ):
            return index
        if kind == "open" and other in ("open", "close"):
            depth += 1 if other == "open" else -1
            if not depth:
                return index
        if kind == "html" and other == "html":
            found = re.match(r"</?([A-Za-z][\w-]*)", each)
            if found[1] == name[1] and not each.endswith("/>"):
                depth += -1 if each.startswith("</") else 1
                if depth <= 0:
                    return index or None
    return None


def fill(inline, tokens, between):
    """Adds tokens to an `Inline`. `between` yields what stands between two lines of the file."""
    while tokens:
        kind, text = tokens[0]
        opens = kind in ("open", "html") or (kind == "emphasis" and not tokens[1][1][:1].isspace())
        close = partner_of(tokens) if opens else None
        if close is not None:
            with inline.element((text, tokens[close][1])):
                fill(inline, tokens[1:close], between)
            tokens = tokens[close + 1 :]
            continue
        tokens = tokens[1:]
        if kind == "escape":
            inline.text(text[1:])
        elif kind in ("code", "html"):
            lines = text.split("\n")
            gaps = [next(between) for _ in lines[1:]]
            is_shown = text[0] in "`$" and not text.endswith("\n")
            inline.code("".join(map("".join, zip(lines, [*gaps, ""], strict=True))), is_shown)
        else:
            for _ in range(text.count("\n")):
                next(between)
            inline.text(text.replace("\n", " "))
