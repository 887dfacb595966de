"""HTML built from elements, so that text is always escaped."""

import base64
import re
from xml.etree import ElementTree

# Control characters except white space, and bytes of file names that are not UTF-8.
INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text):
    r"""Returns text whose control characters are replaced by their pictures in Unicode, or by "�".

    >>> visible("a\x01b\x7f\x85")
    'a␁b␡�'
    """
    return INVISIBLE.sub(lambda found: picture_of(ord(found[0])), text)


def picture_of(code):
    if code == 0x7F:
        return "␡"
    return chr(0x2400 + code) if code < 0x20 else "�"


def element(name, *children, **attributes):
    """Returns an HTML element.

    Args:
        name: name of the tag.
        *children: elements and texts, in order. None is skipped.
        **attributes: attributes of the element; `class_` stands for "class".

    Example:

    >>> html_of(element("p", "a < b, ", element("b", "always"), class_="note"))
    '<p class="note">a &lt; b, <b>always</b></p>'
    """
    names = {key.rstrip("_"): str(value) for key, value in attributes.items()}
    result = ElementTree.Element(name, names)
    for child in children:
        if isinstance(child, ElementTree.Element):
            result.append(child)
        elif child is not None and len(result):
            result[-1].tail = (result[-1].tail or "") + str(child)
        elif child is not None:
            result.text = (result.text or "") + str(child)
    return result


def html_of(tree):
    return visible(ElementTree.tostring(tree, encoding="unicode", method="html"))


def paragraph(*children, **attributes):
    return element("p", *children, **attributes)


def section(title, *children):
    return element("section", element("h2", title), *children)


def table(names, rows, numbers=()):
    """Returns a table.

    Args:
        names: names of the columns.
        rows: lists of texts and elements.
        numbers: indices of the columns with numbers, which are right-aligned.
    """

    def cells(kind, row):
        styles = ({"class_": "number"} if i in numbers else {} for i in range(len(row)))
        return [element(kind, cell, **style) for cell, style in zip(row, styles, strict=True)]

    head = element("thead", element("tr", *cells("th", names)))
    body = element("tbody", *(element("tr", *cells("td", row)) for row in rows))
    return element("div", element("table", head, body), class_="wide")


def bar(share):
    """Returns a horizontal bar that is filled to `share`, a number from 0 to 1."""
    filled = element("span", "", style=f"width: {100 * min(max(share, 0), 1):.1f}%")
    return element("span", filled, class_="bar")


def picture(png, description):
    """Returns an image from the bytes of a PNG file, with a description for screen readers."""
    data = base64.b64encode(png).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=description)


def folded(title, *children):
    """Returns content that is hidden until its title is clicked."""
    return element("details", element("summary", title), *children)
