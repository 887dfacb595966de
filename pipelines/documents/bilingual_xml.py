"""XLIFF 1.2, XLIFF 2 and TMX: pairs of a source segment and its translation."""

import re

from pipelines.documents.document import DocumentError, escaped
from pipelines.documents.inline import Inline
from pipelines.documents.xml_tree import root_of

# Elements whose content is code of the translated program, not text.
CODES = {"ph", "bpt", "ept", "it", "x", "bx", "ex", "cp", "sc", "ec", "sm", "em", "ut", ""}
DONE = {"translated", "final", "signed-off", "reviewed"}  # states of units that stay


def read_xliff(document, options):
    """Reads XLIFF 1.2 or 2, whose `<target>`s a translation fills. All else stays."""
    root = root_of(document, "xliff")
    is_old = root.attributes.get("version", "1").startswith("1")
    review = "needs-review-translation" if is_old else "initial"
    state = "translated" if options.final else review
    for unit in root.find("trans-unit" if is_old else "segment"):
        source, target = unit.child("source"), unit.child("target")
        document.skipped['marked translate="no"'] += not unit.translated
        if source is None or not unit.translated:
            continue
        states = {each.attributes.get("state") for each in (unit, target) if each}
        is_done = unit.attributes.get("approved") == "yes" or not DONE.isdisjoint(states)
        own = f' state="{state}"' if is_old and target is None else ""
        prefix = re.match(r"<([\w.-]+:)?", document.text[source.start :])[1] or ""
        tags = f"<{prefix}target{own}>", f"</{prefix}target>"
        after = unit.child("seg-source") or source
        if add(document, options, source, target, after, *tags, is_done) and not own:
            set_attribute(document, target if is_old else unit, "state", state)
    name = "target-language" if is_old else "trgLang"
    for element in (root.find("file") if is_old else [root]) if options.target else ():
        if name not in element.attributes:
            set_attribute(document, element, name, options.target)


def read_tmx(document, options):
    """Reads a translation memory; units without a `<tuv>` in the target language get one."""
    root = root_of(document, "tmx")
    if not options.target:
        raise DocumentError("a TMX file names languages. Give the target language with --to")
    header = root.child("header") or root
    for unit in root.find("tu"):
        variants = {
            main_part(each.attributes.get("lang", "")): each
            for each in unit.find("tuv")
            if each.child("seg")
        }
        languages = header.attributes | unit.attributes
        wanted = main_part(options.source or languages.get("srclang", ""))
        source = variants.get(wanted) or next(iter(variants.values()), None)
        target = variants.get(main_part(options.target))
        if source:
            tags = f'<tuv xml:lang="{options.target}"><seg>', "</seg></tuv>"
            target = target and target.child("seg")
            add(document, options, source.child("seg"), target, source, *tags)


def main_part(code):
    return re.split("[-_]", code.lower())[0]


def add(document, options, source, target, after, before, behind, is_done=False):
    """Adds the place of a translation, if one is wanted, and returns whether it is.

    Args:
        source, target: elements; the target may be None.
        after: the element after which a missing target is added.
        before, behind: tags of the missing target around the translation.
        is_done: whether the unit is approved.
    """
    text, inline = document.text, Inline(escaped)
    if (is_done or (target and target.text.strip())) and not options.retranslate:
        document.skipped["translated already"] += 1
        return False
    fill(inline, source, text)
    if target is None:
        start = end = after.end
        before = re.search(r"\s*\Z", text[max(after.start - 200, 0) : after.start])[0] + before
    elif target.inside == target.end:  # <target/>
        start, end = target.inside - 2, target.inside
        before, behind = ">", behind.partition(">")[0] + ">"
    else:
        start, end, before, behind = target.inside, target.after, "", ""
    unit = inline.unit
    document.add(start, end, unit, lambda new: before + inline.written(new) + behind, keeps=False)
    return unit is not None


def fill(inline, element, text):
    """Adds the content of an element to an `Inline`."""
    for child in element.children:
        if child.name is None:
            inline.text(child.text)
        elif child.name in CODES or not child.translated:
            is_shown = child.name == "ph" or not child.translated
            inline.code(text[child.start : child.end], is_shown)
        else:
            with inline.element(text[child.start : child.inside], text[child.after : child.end]):
                fill(inline, child, text)


def set_attribute(document, element, name, value):
    """Adds an attribute to a start tag, or replaces its value."""
    tag = document.text[element.start : element.inside]
    found = re.search(rf"\s{name}\s*=\s*(\"[^\"]*\"|'[^']*')|\s*/?>\Z", tag)
    start, end = found.span(1) if found[1] else (found.start(), found.start())
    new = f'"{value}"' if found[1] else f' {name}="{value}"'
    document.replace(element.start + start, element.start + end, new)
