"""Reads glossary files: lines with tabs (TSV), CSV, and TBX (ISO 30042).

TSV: a source phrase, a tab and a target phrase per line; empty lines and lines that begin with `#`
are ignored. CSV: RFC 4180, with commas or semicolons, optionally with a header row.
"""

import csv
import io
import itertools
import re

from pipelines.glossaries.termbase import LineError, entries_in_tbx
from pipelines.languages.language_codes import NAMES, best_match, code_of
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
        return
    try:
        text = contents.decode()
    except UnicodeDecodeError as error:
        raise LineError(contents.count(b"\n", 0, error.start) + 1, "is not UTF-8") from error
    first = next(filter(str.strip, re.split(r"[\r\n]+", text)), "")
    is_tsv = "tsv" in suffixes or "\t" in first or first.startswith("#")
    if is_tsv or not ("csv" in suffixes or re.search("[,;]", first)):
        yield from entries_in_tsv(text)
    else:
        yield from entries_in_csv(text, languages)


def entries_in_tsv(text):
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.strip() and not line.startswith("#"):
            phrases = line.split("\t")
            if len(phrases) != 2:
                raise LineError(
                    number,
                    f"must be a source phrase, a tab and a target phrase. Received: {line[:80]!r}",
                )
            yield number, *phrases


def entries_in_csv(text, languages):
    # Rows of equally many cells between semicolons, or a header without commas.
    sizes = {len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=";") if row}
    is_divided = len(sizes - {1}) == len(sizes) == 1 or "," not in text.lstrip().partition("\n")[0]
    rows = rows_of(text, ";" if is_divided else ",")
    number, first = next(rows, (1, ["", ""]))
    columns = columns_named(first, languages)
    if columns is None:
        names = " and ".join(languages or SIDES)
        reason = "" if languages else " (the model does not record its languages)"
        raise LineError(
            number,
            f"must name the columns {names}{reason}, or have two columns of phrases. "
            f"Received: {', '.join(first)[:80]}",
        )
    if columns == ():
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
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise LineError(number, f"is not CSV: {error}") from error


def columns_named(row, languages):
    """Returns the columns of the source and target phrases that a header, a row of cells, names.

    Returns () if the row has two cells and is no header, and None if it does not name the columns.
    """
    names = [cell.strip().casefold() for cell in row]
    sides = [re.sub("[ _](term|phrase|text)$", "", name) for name in names]
    if all(side in sides for side in SIDES):
        return tuple(map(sides.index, SIDES))
    codes = [CODES.get(name) or code_of(name) for name in names]
    codes = [code if code and code.partition("-")[0] in NAMES else None for code in codes]
    columns = tuple(best_match(codes, language) for language in languages or ())
    if len({*columns} - {None}) == 2:
        return columns
    return () if len(row) == 2 and None in codes else None
