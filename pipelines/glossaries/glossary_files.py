"""Reads glossary files: lines with tabs (TSV), CSV, and TBX (ISO 30042).

TSV: a source phrase, a tab and a target phrase per line; empty lines and lines that begin with `#`
are ignored. CSV: RFC 4180, with commas or semicolons, optionally with a header row.
"""

import csv
import io
import itertools
import re

from pipelines.checks import LineError
from pipelines.glossaries.termbase import entries_in_tbx
from pipelines.languages.language_codes import NAMES, best_match, normalized
from pipelines.text.sources import BYTE_ORDER_MARK

LONGEST = 64_000_000  # bytes of a glossary
SIDES = ("source", "target")
CODES = {name.casefold(): code for code, name in NAMES.items()}  # {"german": "de"}
XML = re.compile(rb"\s*<(\?xml|!--|!DOCTYPE|martif|([\w.-]+:)?tbx)[\s?>-]", re.IGNORECASE)


def entries_in(contents, name, languages=None):
    """Yields (line number, source phrase, target phrase) for each entry of a glossary.

    Args:
        contents: bytes of the file.
        name: name of the file. The suffixes `.tsv`, `.csv` and `.tbx` determine the format;
            otherwise the contents do.
        languages: codes of the source and the target language. None: not known.
    """
    if len(contents) > LONGEST:
        raise ValueError(f"a glossary may have at most {LONGEST:,} bytes. Divide it")
    contents = contents.removeprefix(BYTE_ORDER_MARK)
    suffixes = str(name).lower().split(".")[1:]
    if "tbx" in suffixes or ("tsv" not in suffixes and XML.match(contents)):
        yield from entries_in_tbx(contents, languages)
    elif is_csv(contents, suffixes):
        yield from entries_in_csv(contents, languages)
    else:
        yield from entries_in_tsv(contents)


def is_csv(contents, suffixes):
    """Returns whether a glossary is CSV, according to its suffixes or its first line."""
    first = next((line for line in contents.splitlines() if line.strip()), b"")
    if "tsv" in suffixes or b"\t" in first or first.startswith(b"#"):
        return False
    return "csv" in suffixes or delimiter_of(first.decode("utf-8", "replace")) is not None


def entries_in_tsv(contents):
    for number, line in enumerate(contents.split(b"\n"), 1):
        text = decoded(line, number).rstrip("\r")
        if text.strip() and not text.startswith("#"):
            phrases = text.split("\t")
            if len(phrases) != 2:
                raise LineError(
                    number,
                    f"must be a source phrase, a tab and a target phrase. Received: {text[:80]!r}",
                )
            yield number, *phrases


def decoded(line, number):
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise LineError(number, "is not UTF-8") from error


def entries_in_csv(contents, languages):
    lines = contents.splitlines(keepends=True)
    lines = [decoded(line, number) for number, line in enumerate(lines, 1)]
    first_line = next(filter(str.strip, lines), "")
    text = "".join(lines)
    delimiter = delimiter_of(first_line) or ","
    if set(",;") <= set(unquoted(first_line)):
        delimiter = only_delimiter(text)
    rows = rows_of(text, delimiter)
    number, first = next(rows, (1, ["", ""]))
    columns = columns_named(first, languages, number)
    if columns is None:
        if len(first) != 2:
            names = " and ".join(languages or SIDES)
            reason = "" if languages else " (the model does not record its languages)"
            raise LineError(
                number,
                f"must have two columns, or be a header that names the columns {names}{reason}. "
                f"Received: {', '.join(first)[:80]}",
            )
        columns, rows = (0, 1), itertools.chain([(number, first)], rows)
    for number, row in rows:
        if len(row) != len(first):
            raise LineError(number, f"must have {len(first)} columns. Received: {len(row)}")
        if any(row[column].strip() for column in columns):
            yield number, *(row[column] for column in columns)


def rows_of(text, delimiter):
    """Yields (number of its first line, cells) for each row of CSV that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise LineError(number, f"is not CSV: {error}") from error
        if row is None:
            return
        if any(map(str.strip, row)):
            yield number, row
        number = reader.line_num + 1


def delimiter_of(line):
    """Returns the first comma or semicolon outside quotation marks, or None."""
    return next((character for character in unquoted(line) if character in ",;"), None)


def unquoted(line):
    return re.sub(r'"[^"]*("|$)', "", line)


def only_delimiter(text):
    """Returns the delimiter, comma or semicolon, that divides all rows into equally many cells."""
    fit = [each for each in ",;" if len({len(row) for _, row in rows_of(text, each)}) == 1]
    if len(fit) != 1:
        raise LineError(
            1,
            "contains commas and semicolons, and it is not clear which of them separate the "
            "columns. Put phrases that contain one into quotation marks",
        )
    return fit[0]


def columns_named(row, languages, number):
    """Returns the columns of the source and target phrases if a row is a header, or None.

    Args:
        row: cells of the first row.
        languages: see `entries_in`.
        number: the line, for error messages.
    """
    names = [cell.strip().casefold() for cell in row]
    sides = [re.sub("[ _](term|phrase|text)$", "", name) for name in names]
    if all(side in sides for side in SIDES):
        return tuple(map(sides.index, SIDES))
    codes = [CODES.get(name) or known_code(name) for name in names]
    columns = tuple(best_match(codes, language) for language in languages or ())
    if len({*columns} - {None}) == 2:
        return columns
    if len(codes) < 2 or None in codes:
        return None
    needed = " and ".join(languages or SIDES)
    reason = "" if languages else ", because the model does not record its languages"
    raise LineError(
        number, f"must name the columns {needed}{reason}. Received: {', '.join(row)[:80]}"
    )


def known_code(name):
    """Returns a language code in its usual form, or None if it is not the code of a language."""
    try:
        code = normalized(name)
    except ValueError:
        return None
    return code if code.partition("-")[0] in NAMES else None
