"""`Inline`: a unit in which numbered tags stand for the inline markup of a document's format."""

import contextlib
import html
import re

from pipelines.documents.document import HOLDER, Unit, first_holder, has_letters

TAGS = re.compile(r'<(?:g i="(\d+)"|x i="(\d+)"/|(/g))>|' + HOLDER.pattern)


class Inline:
    """Collects text and inline markup, and later turns a translation into the format's own markup.

    Attributes:
        plain: the text without markup.
    """

    def __init__(self):
        self.parts, self.tags, self.plain = [], [], ""

    def text(self, text):
        self.parts.append(html.escape(text, quote=False))
        self.plain += text

    def code(self, tag, is_shown=False):
        """Adds markup that encloses nothing.

        Args:
            tag: any object.
            is_shown: whether a reader sees it as a word, such as code or a variable.
        """
        count = len(self.tags)
        self.parts.append(count if is_shown else f'<x i="{count}"/>')
        self.tags.append(tag)

    @contextlib.contextmanager
    def element(self, tag):
        """Encloses the text and markup that are added in the block."""
        self.parts.append(f'<g i="{len(self.tags)}">')
        self.tags.append(tag)
        yield
        self.parts.append("</g>")

    @property
    def units(self):
        """A list of the unit, or an empty list if its text has no letters."""
        first = first_holder(self.plain)
        parts = (
            f"{{__{first + each}__}}" if isinstance(each, int) else each for each in self.parts
        )
        return [Unit("".join(parts), "html")] if has_letters(self.plain) else []

    def events(self, translation):
        """Yields (kind, text or tag); kind is "text", "code", "open" or "close"."""
        opened, at, first = [], 0, first_holder(self.plain)
        for match in TAGS.finditer(translation):
            if match[4] and not 0 <= int(match[4]) - first < len(self.tags):
                continue  # a word of the source
            if match.start() > at:
                yield "text", html.unescape(translation[at : match.start()])
            at = match.end()
            if match[1]:
                opened.append(self.tags[int(match[1])])
                yield "open", opened[-1]
            elif match[2] or match[4]:
                index = int(match[2]) if match[2] else int(match[4]) - first
                yield "code", self.tags[index]
            else:
                yield "close", opened.pop()
        if at < len(translation):
            yield "text", html.unescape(translation[at:])

    def restored(self, translation, escape):
        """Returns a translation with tags that are pairs of strings, for before and after."""
        written = {
            "text": escape,
            "code": lambda tag: "".join(tag),
            "open": lambda tag: tag[0],
            "close": lambda tag: tag[1],
        }
        return "".join(written[kind](value) for kind, value in self.events(translation))
