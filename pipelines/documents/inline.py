"""`Inline`: a unit in which numbered tags stand for the inline markup of a document's format."""

import contextlib
import html
import re

from pipelines.documents.document import HOLDER, TAG, Unit, has_letters

ELEMENT, END, EMPTY, SHOWN = '<g i="{}">', "</g>", '<x i="{}"/>', "{{__{}__}}"  # in a unit
TOKEN = re.compile(r'(.*?)(?:(</g>)|<[gx] i="(\d+)"/?>|\{__(\d{1,9})__\}|\Z)', re.S)


class Inline:
    """Collects text and inline markup, and later turns a translation into the format's own markup.

    `escape` is a function of a text that returns it in the document's format.
    """

    def __init__(self, escape):
        self.escape = escape
        self.parts = []  # texts, and (form of a tag, index in `tags`)
        self.tags = {}

    def text(self, text):
        for index, part in enumerate(re.split(f"({HOLDER}|{TAG.pattern})", text)):
            if index % 2:  # text that looks like a placeholder or a tag
                self.code(lambda escape, part=part: escape(part), part[0] == "{")
            elif part:
                self.parts.append(part)

    def code(self, written, is_shown=False):
        """Adds markup that encloses nothing.

        Args:
            written: the markup, or a function of `escape` that returns it.
            is_shown: whether a reader sees it as a word, such as code or a variable.
        """
        self.parts.append((SHOWN if is_shown else EMPTY, len(self.tags)))
        self.tags[len(self.tags)] = written

    @contextlib.contextmanager
    def element(self, before, after, escape=None):
        """Encloses what is added in strings or functions that return them; `escape` as above."""
        tag, last = (before, after, escape), self.parts[-1] if self.parts else ""
        if escape and last[:1] == (END,) and self.tags[last[1]] == tag:
            index = self.parts.pop()[1]  # a run like the one before continues it
        else:
            index = len(self.tags)
            self.parts.append((ELEMENT, index))
            self.tags[index] = tag
        yield
        self.parts.append((END, index))

    @property
    def unit(self):
        """The `Unit`, or None if its text has no letters."""
        if not any(has_letters(part) for part in self.parts if isinstance(part, str)):
            return None
        parts = (
            html.escape(part, quote=False) if isinstance(part, str) else part[0].format(part[1])
            for part in self.parts
            if isinstance(part, str) or self.tags[part[1]] != ("", "", self.escape)
        )
        return Unit("".join(parts), "html")

    def written(self, translation):
        """Returns a translation in the document's format."""
        written, opened, invented = [], [("", "", self.escape)], ("", "", None)
        for text, end, *numbers in TOKEN.findall(translation):
            if text:
                written.append(opened[-1][2](html.unescape(text)))
            if end and opened[1:]:
                written.append(opened.pop()[1])
            elif number := "".join(numbers):
                tag = self.tags.get(int(number), invented)
                if isinstance(tag, tuple):
                    opened.append((*tag[:2], tag[2] or opened[-1][2]))
                    written.append(tag[0])
                else:
                    written.append(tag(opened[-1][2]) if callable(tag) else tag)
        return "".join(each() if callable(each) else each for each in written)
