"""Tracks which HTML or XML elements are open at a place in a text, and whether to translate them.

HTML may omit end tags: `<li>` ends at the next `<li>`, and `<p>` at the next block or with its
parent. If these rules were ignored, `<li translate="no">` would leave the rest of a page
untranslated.
"""

import re
from typing import NamedTuple


def names(text):
    return frozenset(text.split())


UNTRANSLATED = {"script", "style", "pre", "code", "kbd", "samp", "textarea", "svg", "math"}
RAW = {"script", "style", "textarea"}  # elements that only their own end tag closes
VOID = names("area base br col embed hr img input link meta param source track wbr")
BLOCKS = names(
    """address article aside blockquote body br button caption center col colgroup dd details
    dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head
    header hgroup hr html iframe legend li link main menu meta nav noscript ol optgroup option p
    pre script section select style summary table tbody td template textarea tfoot th thead
    title tr ul"""
)
# {elements whose end tags are optional: start tags that end them}
ENDED_BY = {
    "li": "li",
    "dt dd": "dt dd",
    "p": """address article aside blockquote center dd details dialog dir div dl dt fieldset
        figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre
        search section summary table ul""",
    "rt rp": "rt rp",
    "option": "option optgroup",
    "optgroup": "optgroup",
    "thead tbody tfoot": "thead tbody tfoot",
    "tr": "tr thead tbody tfoot",
    "td th": "td th tr thead tbody tfoot",
    "head": "body",
}
ENDS = {}  # {start tag: elements that it ends}
for elements, tags in ENDED_BY.items():
    for tag in tags.split():
        ENDS.setdefault(tag, set()).update(elements.split())
# A start tag inside one of these elements does not end an element outside it.
LIMITS = names("ul ol menu dl select ruby table td th template button object")
DEEPEST = 256  # maximum number of open elements to search for the element that a tag ends
PRESERVE = re.compile(r"\bxml:space\s*=\s*[\"'](preserve|default)")
ATTRIBUTE = re.compile(r"([^\s=>\"'/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")


class OpenElement(NamedTuple):
    """An open element, whether its text is translated, and whether its line breaks matter."""

    name: str
    translated: bool
    keeps_lines: bool


class OpenElements:
    """The open elements of "html" or "xml", where every element has an end tag; innermost last."""

    def __init__(self, markup):
        self.is_html, self.stack = markup == "html", []
        self.mismatched = ""  # name of the first end tag that does not match the innermost element

    @property
    def innermost(self):
        return self.stack[-1].name if self.stack else ""

    @property
    def translated(self):
        return not self.stack or self.stack[-1].translated

    @property
    def keeps_lines(self):
        return not self.stack or self.stack[-1].keeps_lines

    def __len__(self):
        return len(self.stack)

    def end_before(self, name):
        """Closes the elements that a start tag ends."""
        ended, cut = ENDS.get(name, ()) if self.is_html else (), len(self.stack)
        for index in self.indices() if ended else ():
            if self.stack[index].name in ended:
                cut = index
            elif self.stack[index].name in LIMITS:
                break
        del self.stack[cut:]

    def open(self, name, attributes):
        """Opens an element. `attributes` is the text after the name in its tag."""
        choice = translation_choice(attributes)
        if choice is None:
            choice = self.translated and name not in UNTRANSLATED
        keeps_lines = self.keeps_lines if self.is_html else bool(self.stack) and self.keeps_lines
        if self.is_html and name in BLOCKS:
            keeps_lines = name == "pre"
        elif not self.is_html and (space := PRESERVE.search(attributes)):
            keeps_lines = space[1] == "preserve"
        self.stack.append(OpenElement(name, choice and name not in RAW, keeps_lines))

    def close(self, name):
        """Closes and returns the element of an end tag, or returns None for a stray end tag."""
        if name != self.innermost:
            self.mismatched = self.mismatched or name
        for index in self.indices():
            element = self.stack[index]
            if element.name == name:
                del self.stack[index:]
                return element
        return None

    def indices(self):
        """Returns the indices of the open elements, the innermost first."""
        return range(len(self.stack) - 1, max(len(self.stack) - DEEPEST, 0) - 1, -1)


def translation_choice(attributes):
    """Returns whether attributes request or forbid translation; None if they do neither."""
    if "translate" not in attributes.lower():
        return None
    choice = None
    for name, *values in ATTRIBUTE.findall(attributes):
        value = "".join(values).lower()
        if name.lower() == "class" and "notranslate" in value.split():
            return False
        if name.lower() in ("translate", "its:translate"):
            choice = {"no": False, "yes": True, "": True}.get(value, choice)
    return choice
