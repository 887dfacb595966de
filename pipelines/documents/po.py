"""PO files of gettext. Their `msgid`s, comments and contexts stay; `msgstr`s are filled."""

import re

from pipelines.documents.document import DocumentError, Unit, has_letters, kind_of

STRING = r'"(?:[^"\\\n]|\\.)*"'
FIELD = re.compile(
    rf"^(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s+({STRING}(?:\s*\n{STRING})*)", re.M
)
ENTRY = re.compile(rf".*?^msgstr\S*\s+{STRING}(?:\s*\n{STRING})*+(?!\s*msgstr)|.+", re.M | re.S)
MARKS = re.compile(r"^#,([^\r\n]*)\r?\n", re.M)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_po(document, options):
    text, at = document.text, 0
    for block in re.split(r"(\n[ \t\r]*\n)", text):
        end = at + len(block)
        stray = re.search(r"^[^#\s].*", FIELD.sub("", block), re.M)
        for entry in ENTRY.finditer(text, at, end):
            found = [*FIELD.finditer(text, *entry.span())]
            fields = {match[1]: match for match in found}
            is_whole = "msgid" in fields and any("msgstr" in field for field in fields)
            if stray or len(fields) < len(found) or (fields and not is_whole):
                line = text.count("\n", 0, at + block.find(stray[0]) if stray else at) + 1
                wrong = repr(stray[0][:60]) if stray else "an entry needs msgid and msgstr"
                raise DocumentError(f"line {line:,}: {wrong}")
            if fields and value_of(fields["msgid"]):  # an empty msgid is the header's
                add_entry(document, *entry.span(), fields, options)
        at = end


def add_entry(document, start, end, fields, options):
    source, plural = value_of(fields["msgid"]), fields.get("msgid_plural")
    targets = [field for name, field in fields.items() if name.startswith("msgstr")]
    line_break = "\r\n" if "\r\n" in document.text[start:end] else "\n"
    marks = MARKS.search(document.text, start, end)
    flags = re.findall(r"[^\s,]+", marks[1]) if marks else []
    is_done = any(map(value_of, targets)) and "fuzzy" not in flags and not options.retranslate
    if is_done or not has_letters(source):
        document.skipped["translated already" if is_done else "without letters"] += 1
        return
    for index, field in enumerate(targets):
        text = value_of(plural) if plural and (index or len(targets) == 1) else source

        def written(new, source=text):
            before = "\n" * (source.startswith("\n") and not new.startswith("\n"))
            after = "\n" * (source.endswith("\n") and not new.endswith("\n"))
            return quoted(before + new + after, line_break)

        document.add(*field.span(2), Unit(text, kind_of(text)), written, keeps=False)
    wanted = [each for each in flags if each != "fuzzy"]
    wanted = wanted if options.final else ["fuzzy", *wanted]
    if {*wanted} != {*flags}:
        first = min(field.start() for field in fields.values())
        line = f"#, {', '.join(wanted)}{line_break}" if wanted else ""
        document.replace(*(marks.span() if marks else (first, first)), line)


def value_of(field):
    """Returns the string of a field, decoded."""
    inner = "".join(each[1:-1] for each in re.findall(STRING, field[2]))
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), inner)


def quoted(text, line_break):
    """Returns a string as gettext writes it: one line, or a first empty line and one a line."""
    for character, written in (("\\", "\\\\"), ('"', '\\"'), ("\t", "\\t"), ("\r", "\\r")):
        text = text.replace(character, written)
    lines = [line.replace("\n", "\\n") for line in text.splitlines(keepends=True)] or [""]
    return line_break.join(f'"{line}"' for line in [""] * (len(lines) > 1) + lines)
