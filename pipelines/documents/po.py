"""PO files of gettext. Their `msgid`s, comments and contexts stay; `msgstr`s are filled."""

import re

from pipelines.documents.document import DocumentError, Template, decoded, has_letters, unit_of

STRING = r'"(?:[^"\\\n]|\\.)*"'
FIELD = re.compile(
    rf"^(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s+({STRING}(?:\s*\n{STRING})*)", re.M
)
MARKS = re.compile(r"^#,[^\r\n]*", re.M)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_po(data, options):
    text, encode = decoded(data)
    template, entries = Template(text), [*entries_of(text)]
    if not entries:
        raise DocumentError("it has no msgid")
    for start, end, fields in entries:
        if "msgid" not in fields or not any(name.startswith("msgstr") for name in fields):
            raise DocumentError(f"line {line_of(text, start):,}: an entry needs msgid and msgstr")
        add_entry(template, start, end, fields, options)
    return template, encode


def entries_of(text):
    """Yields start, end and {field: match} of each entry that is not obsolete."""
    at = 0
    for block in re.split(r"(\n[ \t\r]*\n)", text):
        fields = {match[1]: match for match in FIELD.finditer(text, at, at + len(block))}
        unread = FIELD.sub("", block)
        stray = re.search(r"^[^#\s].*", unread, re.M)
        if stray:
            raise DocumentError(
                f"line {line_of(text, at + block.find(stray[0])):,}: {stray[0][:60]!r}"
            )
        if fields:
            yield at, at + len(block), fields
        at += len(block)


def add_entry(template, start, end, fields, options):
    source = value_of(fields["msgid"])
    plural = value_of(fields["msgid_plural"]) if "msgid_plural" in fields else None
    targets = [field for name, field in fields.items() if name.startswith("msgstr")]
    if not source:
        return  # the header
    line_break = "\r\n" if "\r\n" in template.text else "\n"
    flags = MARKS.search(template.text, start, end)
    is_fuzzy = flags is not None and "fuzzy" in flags[0]
    if any(map(value_of, targets)) and not is_fuzzy and not options.retranslate:
        template.skip("translated already")
        return
    if not has_letters(source):
        template.skip("without letters")
        return
    for index, field in enumerate(targets):
        text = source if plural is None or (index == 0 and len(targets) > 1) else plural
        template.add(
            *field.span(2),
            [unit_of(text)],
            lambda found, t=text: quoted(like(t, *found), line_break),
        )
    if not (options.final or is_fuzzy):
        if flags is not None:
            template.add(flags.start() + 2, flags.start() + 2, [], lambda _: " fuzzy,")
        else:
            first = min(field.start() for field in fields.values())
            template.add(first, first, [], lambda _: f"#, fuzzy{line_break}")
    elif is_fuzzy and options.final:
        kept = [each for each in re.split(r",\s*", flags[0][2:].strip()) if each != "fuzzy"]
        whole = flags.end() + (not kept)
        template.add(flags.start(), whole, [], lambda _: "#, " + ", ".join(kept) if kept else "")


def value_of(field):
    """Returns the string of a field, decoded."""
    inner = "".join(each[1:-1] for each in re.findall(STRING, field[2]))
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), inner)


def quoted(text, line_break):
    """Returns a string as gettext writes it: one line, or a first empty line and one a line."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\r", "\\r")
    )
    lines = [line.replace("\n", "\\n") for line in escaped.splitlines(keepends=True)] or [""]
    return line_break.join(f'"{line}"' for line in ([""] if len(lines) > 1 else []) + lines)


def like(source, translation):
    """Returns a translation with the line break that its source begins or ends with."""
    if source.startswith("\n") and not translation.startswith("\n"):
        translation = "\n" + translation
    return translation + "\n" * (source.endswith("\n") and not translation.endswith("\n"))


def line_of(text, at):
    return text.count("\n", 0, at) + 1
