"""Plain text by paragraphs, and a column of a CSV or TSV table."""

import re

from pipelines.documents.document import DocumentError, unit_of

PARAGRAPH = re.compile(r"(?:^[^\n]*\S[^\n]*(?:\n|\Z))+", re.M)
LINE = re.compile(r"[ \t]*((?:[-*•–]|\d+[.)])\s+)?(\S.*)")
WRAPPED = range(40, 120)  # length of a line that an editor has wrapped
FIELD = r'("(?:[^"]|"")*"|(?!")[^\r\n]*?)(SEP|\r\n|\n|\r|\Z)'


def read_text(document, options):
    """Reads plain text. A paragraph of wrapped lines is translated as a whole."""
    for match in PARAGRAPH.finditer(document.text):
        lines = [*LINE.finditer(document.text, *match.span())]
        spans = [(line.start(2), line.start() + len(line[0].rstrip())) for line in lines]
        if is_wrapped(lines):
            document.add_lines(spans, unit_of(document.joined(spans), "placeholders"))
        else:
            for span in spans:
                document.add_text(*span)


def is_wrapped(lines):
    """Returns whether the lines of a paragraph are one text that is wrapped, and not a list."""
    sizes = [len(line[0].rstrip()) for line in lines]
    *others, last = sizes
    is_even = bool(others) and min(others) >= max(others) - 20 and max(others) in WRAPPED
    return is_even and last <= max(others) + 5 and not any(line[1] for line in lines[1:])


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
