"""Plain text by paragraphs, and a column of a CSV or TSV table."""

import re
import textwrap

from pipelines.documents.document import DocumentError

PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
BULLET = re.compile(r"[ \t]*(?:(?:[-*•–]|\d+[.)])\s+)?")
WRAPPED = range(40, 120)  # length of a line that an editor has wrapped
FIELD = r'("(?:[^"]|"")*"|[^\r\n]*?)(SEP|\r\n|\n|\r|\Z)'


def read_text(document, options):
    """Reads plain text. A paragraph of wrapped lines is translated as a whole and wrapped again."""
    for match in PARAGRAPH.finditer(document.text):
        at, lines = match.start(), match[0].splitlines(keepends=True)
        if is_wrapped([line.rstrip() for line in lines]):
            add_paragraph(document, at, lines)
            continue
        for line in lines:
            start = BULLET.match(document.text, at).end()
            at += len(line)
            document.add_text(start, start + len(document.text[start:at].rstrip()))


def is_wrapped(lines):
    """Returns whether the lines of a paragraph are one text that is wrapped, and not a list."""
    sizes = [*map(len, lines[:-1])]
    is_list = any(BULLET.match(line)[0].strip() for line in lines[1:])
    is_even = bool(sizes) and min(sizes) >= max(sizes) - 20 and max(sizes) in WRAPPED
    indents = {len(line) - len(line.lstrip()) for line in lines[1:]}
    return is_even and len(lines[-1]) <= max(sizes) + 5 and not is_list and len(indents) == 1


def add_paragraph(document, at, lines):
    raw = "".join(lines)
    first, indent = (re.match(r"\s*", line)[0] for line in lines[:2])
    width = max(len(line.rstrip()) for line in lines)
    line_break = re.search(r"\r?\n", raw)[0]

    def written(translation):
        kinds = {"break_long_words": False, "break_on_hyphens": False}
        lines = textwrap.wrap(first + translation, width, subsequent_indent=indent, **kinds)
        return line_break.join(lines)[len(first) :]

    start, text = at + len(first), " ".join(map(str.strip, lines))
    document.add_text(start, at + len(raw.rstrip()), text, written)


def read_table(document, options, separator):
    """Reads a column of a table. Other columns, quotes and line ends stay."""
    column, row, at, text = None, [], 0, document.text
    for match in re.finditer(FIELD.replace("SEP", re.escape(separator)), text):
        if match.start() > at or (match.start() == len(text) and not row):
            break
        row.append(match)
        at = match.end()
        if match[2] == separator:
            continue
        if column is None:
            column = column_of(options.column, [value_of(field[1]) for field in row])
        elif len(row) > column:
            field = row[column]

            def written(new, raw=field[1]):
                if raw.startswith('"') or re.search(f'[{separator}"\n]', new):
                    return '"' + new.replace('"', '""') + '"'
                return new

            document.add_text(*field.span(1), value_of(field[1]), written)
        else:
            document.skipped["row without the column"] += 1
        row = []
    if at < len(text):
        raise DocumentError(f"row {text.count(chr(10), 0, at) + 1:,}: text after a quoted field")
    if column is None:
        raise DocumentError("it has no row")


def column_of(wanted, names):
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise DocumentError(
        f"name the column to translate with --column. Received: {wanted or 'none'}; the table has "
        f"{', '.join(names)[:300]}"
    )


def value_of(field):
    return field[1:-1].replace('""', '"') if field.startswith('"') else field
