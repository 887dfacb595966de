"""HTML made of elements, in which whatever text is given stays text."""

import base64
from xml.etree import ElementTree


def element(name, *children, **attributes):
    """An HTML element.

    Args:
        name: its tag.
        *children: elements and texts, in their order. None is left out.
        **attributes: `class_` is the attribute "class".

    Example:

    >>> html_of(element("p", "a < b, ", element("b", "always"), class_="note"))
    '<p class="note">a &lt; b, <b>always</b></p>'
    """
    names = {key.rstrip("_"): str(value) for key, value in attributes.items()}
    made = ElementTree.Element(name, names)
    for child in children:
        if isinstance(child, ElementTree.Element):
            made.append(child)
        elif child is not None and len(made):
            made[-1].tail = (made[-1].tail or "") + str(child)
        elif child is not None:
            made.text = (made.text or "") + str(child)
    return made


def html_of(made):
    return ElementTree.tostring(made, encoding="unicode", method="html")


def paragraph(*children, **attributes):
    return element("p", *children, **attributes)


def section(title, *children):
    return element("section", element("h2", title), *children)


def table(names, rows, numbers=()):
    """A table.

    Args:
        names: of the columns.
        rows: lists of texts and elements.
        numbers: the columns that stand to the right, counted from 0.
    """

    def cells(kind, row):
        looks = ({"class_": "number"} if i in numbers else {} for i in range(len(row)))
        return [element(kind, cell, **look) for cell, look in zip(row, looks, strict=True)]

    head = element("thead", element("tr", *cells("th", names)))
    body = element("tbody", *(element("tr", *cells("td", row)) for row in rows))
    return element("div", element("table", head, body), class_="wide")


def bar(share):
    """A bar of which `share`, from 0 to 1, is filled."""
    filled = element("span", "", style=f"width: {100 * min(max(share, 0), 1):.1f}%")
    return element("span", filled, class_="bar")


def picture(png, described):
    """An image, from the bytes of a PNG file.

    Args:
        described: what is to be seen on it, for who cannot see it.
    """
    data = base64.b64encode(png).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=described)


def folded(title, *children):
    """What is seen when its title is clicked."""
    return element("details", element("summary", title), *children)
