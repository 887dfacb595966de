"""Plain text by paragraphs, and a column of a CSV or TSV table."""

import re
import textwrap

from pipelines.documents.document import DocumentError, Template, decoded

PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
BULLET = re.compile(r"\s*(?:(?:[-*•–]|\d+[.)])\s+)?")
WRAPPED = range(40, 120)  # length of a line that an editor has wrapped
FIELD = re.compile(r'"(?:[^"]|"")*"|[^\r\n]*?(?=SEP|[\r\n]|\Z)')


def read_text(data, options):
    """Reads plain text. A paragraph of wrapped lines is translated as a whole and wrapped again."""
    text, encode = decoded(data)
    template = Template(text)
    for match in PARAGRAPH.finditer(text):
        lines = match[0].splitlines()
        if is_wrapped(lines):
            add_paragraph(template, match.start(), lines, match[0])
            continue
        at = match.start()
        for line in match[0].splitlines(keepends=True):
            start = at + BULLET.match(line).end()
            bare = text[start : at + len(line)].rstrip()
            template.add_text(start, start + len(bare), bare)
            at += len(line)
    return template, encode


def is_wrapped(lines):
    """Returns whether the lines of a paragraph are one text that is wrapped, and not a list."""
    full = [len(line.rstrip()) for line in lines[:-1]]
    is_list = any(re.match(r"\s*(?:[-*•]|\d+[.)])\s", line) for line in lines[1:])
    same_indent = len({len(line) - len(line.lstrip()) for line in lines[1:]}) <= 1
    is_even = bool(full) and min(full) >= max(full) - 20 and max(full) in WRAPPED
    return is_even and len(lines[-1]) <= max(full) + 5 and not is_list and same_indent


def add_paragraph(template, at, lines, raw):
    text = " ".join(line.strip() for line in lines)
    width = max(len(line.rstrip()) for line in lines)
    indent = lines[1][: len(lines[1]) - len(lines[1].lstrip())]
    first = len(raw) - len(raw.lstrip())
    line_break = "\r\n" if "\r\n" in raw else "\n"

    def written(translation):
        wrapped = textwrap.wrap(
            " " * first + translation,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
        return line_break.join(wrapped)[first:]

    template.add_text(at + first, at + len(raw.rstrip()), text, written)


def read_table(data, options, separator):
    """Reads a column of a table. Other columns, quotes and line ends stay."""
    text, encode = decoded(data)
    template = Template(text)
    rows = rows_of(text, separator)
    header = next(rows, None)
    if header is None:
        raise DocumentError("it has no row")
    names = [value for _, _, value in header]
    column = column_of(options.column, names)
    for row in rows:
        if len(row) <= column:
            template.skip("row without the column")
            continue
        start, end, value = row[column]
        is_quoted = text[start : start + 1] == '"'
        template.add_text(start, end, value, lambda new, q=is_quoted: quoted(new, separator, q))
    return template, encode


def column_of(wanted, names):
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise DocumentError(
        f"name the column to translate with --column. Received: {wanted or 'none'}; the table has "
        f"{', '.join(names)[:300]}"
    )


def rows_of(text, separator):
    """Yields the fields of each row as (start, end, value)."""
    field = re.compile(FIELD.pattern.replace("SEP", re.escape(separator)))
    at, row = 0, []
    while at < len(text):
        match = field.match(text, at)
        value = match[0][1:-1].replace('""', '"') if match[0].startswith('"') else match[0]
        row.append((*match.span(), value))
        at = match.end()
        if text.startswith(separator, at):
            at += 1
            continue
        end = re.compile(r"\r\n|\n|\r|\Z").match(text, at)
        if end is None:
            raise DocumentError(
                f"row {text.count(chr(10), 0, at) + 1:,}: text after a quoted field"
            )
        at = end.end()
        yield row
        row = []


def quoted(text, separator, is_quoted):
    if is_quoted or separator in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text
