"""XLIFF 1.2, XLIFF 2 and TMX: pairs of a source segment and its translation."""

import re

from pipelines.documents.document import DocumentError, Template
from pipelines.documents.inline import Inline
from pipelines.documents.xml_tree import Element, escaped, parsed

# Elements whose content is code of the translated program, not text.
CODES = {"ph", "bpt", "ept", "it", "x", "bx", "ex", "cp", "sc", "ec", "sm", "em", ""}
DONE = {"translated", "final", "signed-off", "reviewed"}  # states of units that stay


def read_xliff(data, options):
    """Reads XLIFF 1.2 or 2, whose `<target>`s a translation fills. All else stays."""
    root, source, encode = parsed(data)
    if root.name != "xliff":
        raise DocumentError(f"it is not XLIFF: it begins with <{root.name}>")
    template = Template(source)
    is_old = root.attributes.get("version", "1").startswith("1")
    review, done = ("needs-review-translation" if is_old else "initial"), "translated"
    for unit in units_of(root, "trans-unit" if is_old else "segment", template):
        own, target = unit.child("source"), unit.child("target")
        if own is None:
            continue
        states = [each.attributes.get("state") for each in (unit, target) if each is not None]
        is_done = unit.attributes.get("approved") == "yes" or not DONE.isdisjoint(states)
        has_translation = target is not None and target.text.strip()
        if (is_done or has_translation) and not options.retranslate:
            template.skip("translated already")
            continue
        inline = Inline()
        fill(inline, own, source)
        state = ("state", done if options.final else review)
        add(template, inline, own, target, "target", state if is_old else None)
        if inline.units and not is_old:
            set_attribute(template, unit, *state)
    name = "target-language" if is_old else "trgLang"
    for element in (root.find("file") if is_old else [root]) if options.target else ():
        if name not in element.attributes:
            set_attribute(template, element, name, options.target)
    return template, encode


def units_of(element, name, template):
    """Yields the elements with a name whose text may be translated."""
    for child in element.elements:
        if child.attributes.get("translate") == "no":
            template.skip('marked translate="no"', len([*child.find(name)]) or child.name == name)
        elif child.name == name:
            yield child
        else:
            yield from units_of(child, name, template)


def read_tmx(data, options):
    """Reads a translation memory; units without a `<tuv>` in the target language get one."""
    root, source, encode = parsed(data)
    if root.name != "tmx":
        raise DocumentError(f"it is not TMX: it begins with <{root.name}>")
    if not options.target:
        raise DocumentError("a TMX file names languages. Give the target language with --to")
    template = Template(source)
    header = root.child("header")
    first = header.attributes.get("srclang", "*all*") if header is not None else "*all*"
    for unit in root.find("tu"):
        variants = {language(each): each for each in unit.elements if each.name == "tuv"}
        wanted = main_part(options.source or unit.attributes.get("srclang", first))
        own = variants.get(wanted) or next(iter(variants.values()), None)
        if own is None or own.child("seg") is None:
            continue
        target = variants.get(main_part(options.target))
        filled = target is not None and target.child("seg") is not None and target.text.strip()
        if filled and not options.retranslate:
            template.skip("translated already")
            continue
        inline, segment = Inline(), own.child("seg")
        fill(inline, segment, source)
        if target is not None:
            add(template, inline, segment, target.child("seg"), "seg")
            continue

        def written(translation, inline=inline):
            text = inline.restored(translation, escaped_text)
            return f'<tuv xml:lang="{options.target}"><seg>{text}</seg></tuv>'.encode()

        indent = source[unit.inside : unit.elements[0].start]
        if inline.units:
            template.add(
                own.end, own.end, inline.units, lambda found, w=written, i=indent: i + w(*found)
            )
    return template, encode


def language(variant):
    return main_part(variant.attributes.get("lang", ""))


def main_part(code):
    return code.lower().partition("-")[0].partition("_")[0]


def fill(inline, element, source):
    """Adds the content of an element to an `Inline`."""
    for child in element.children:
        if not isinstance(child, Element):
            inline.text(child.text)
        elif child.name in CODES or child.attributes.get("translate") == "no":
            is_shown = child.name == "ph" or child.attributes.get("translate") == "no"
            inline.code((source[child.start : child.end].decode(),), is_shown)
        else:
            tags = source[child.start : child.inside], source[child.after : child.end]
            with inline.element([tag.decode() for tag in tags]):
                fill(inline, child, source)


def add(template, inline, own, target, name, state=None):
    """Adds the place of a translation: the content of `target`, or a new element after `own`."""
    source = template.text
    if not inline.units:
        template.skip("without letters")
        return

    def content(translation):
        return inline.restored(translation, escaped_text).encode()

    prefix = re.match(rb"<([\w.-]+:)?", source[own.start : own.inside])[1] or b""
    tag = prefix + name.encode()
    if target is None or target.inside == target.end:  # missing, or <target/>
        opening = b"<" + tag + (b">" if state is None else f' {state[0]}="{state[1]}">'.encode())
        indent = b"" if target is not None else re.search(rb"\s*\Z", source[: own.start])[0]
        start, end = (own.end, own.end) if target is None else (target.start, target.end)

        def written(translations):
            return indent + opening + content(*translations) + b"</" + tag + b">"

    else:
        start, end = target.inside, target.after
        if state is not None:
            set_attribute(template, target, *state)

        def written(translations):
            return content(*translations)

    template.add(start, end, inline.units, written)


def set_attribute(template, element, name, value):
    """Adds an attribute to a start tag, or replaces its value."""
    tag = template.text[element.start : element.inside]
    found = re.search(rb"\s" + name.encode() + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    if found:
        start, end = (element.start + at for at in found.span(1))
        template.add(start, end, [], lambda _: f'"{value}"'.encode())
    else:
        at = element.inside - (2 if tag.endswith(b"/>") else 1)
        template.add(at, at, [], lambda _: f' {name}="{value}"'.encode())


def escaped_text(text):
    return escaped(text).decode()
