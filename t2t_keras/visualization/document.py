"""HTML built from elements, so that text is always escaped."""

import base64
import io
from xml.etree import ElementTree


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
    html = ElementTree.tostring(tree, encoding="unicode", method="html")
    return html.encode(errors="replace").decode()  # names of files may not be UTF-8


def paragraph(*children, **attributes):
    return element("p", *children, **attributes)


def code(text):
    return element("code", text)


def section(title, *children):
    return element("section", element("h2", title), *children)


def table(names, rows, numbers=()):
    """Returns a table with the column names, and rows of texts and elements.

    `numbers` are the indices of the columns with numbers, which are right-aligned.
    """
    kinds = [{"class_": "number"} if i in numbers else {} for i in range(len(names))]

    def line(kind, row):
        cells = zip(row, kinds, strict=True)
        return element("tr", *(element(kind, cell, **options) for cell, options in cells))

    body = element("tbody", *(line("td", row) for row in rows))
    return element(
        "div", element("table", element("thead", line("th", names)), body), class_="wide"
    )


def bar(share):
    """Returns a horizontal bar that is filled to `share`, a number from 0 to 1."""
    return element("span", element("span", style=f"width: {100 * share:.1f}%"), class_="bar")


def picture(description, draw, *arguments):
    """Returns an image, with a description for screen readers.

    `draw` is a function of a binary file and the arguments that draws a PNG image.
    """
    file = io.BytesIO()
    draw(file, *arguments)
    data = base64.b64encode(file.getvalue()).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=description)


def folded(title, *children):
    """Returns content that is hidden until its title is clicked."""
    return element("details", element("summary", title), *children)
