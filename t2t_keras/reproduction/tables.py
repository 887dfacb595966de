"""A table of results, as Markdown and as CSV, and what has to be said under every number."""

import csv
import datetime
import io
import os
import platform
import re
import shlex
import sys
from pathlib import Path

import tensorflow as tf


def write_table(path, columns, rows, notes):
    """Writes `path`.md, with notes under the table, and `path`.csv; returns the former's text.

    Args:
        columns: name to a function of a row that gives the text of a cell.
        rows: of any kind.
        notes: lines.
    """
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(line, widths, strict=True))} |"
        for line in (list(columns), ["-" * width for width in widths], *cells)
    ]
    text = "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n"
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([list(columns), *cells])
    for suffix, contents in ((".md", text), (".csv", table.getvalue())):
        whole = Path(f"{path}{suffix}")
        unfinished = Path(f"{whole}.unfinished")
        unfinished.write_text(contents, encoding="utf-8")
        unfinished.rename(whole)
    return text


def circumstances():
    """Date, machine and command."""
    command = shlex.join([Path(sys.argv[0]).name, *given()])
    return [f"{datetime.date.today()}, {machine()}", f"`{command}`"]


def given():
    """The command's arguments as they were given, without the config that is always there."""
    return [a for a in sys.argv[1:] if not a.startswith("--config=")]


def machine():
    devices = tf.config.list_physical_devices("GPU")
    names = [tf.config.experimental.get_device_details(gpu).get("device_name") for gpu in devices]
    if names:
        return f"{len(names)} × {names[0]}"
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    return f"{os.cpu_count()} cores, {processor}"


def number(value, form=".2f"):
    """A number, or nothing where there is none."""
    return "" if value is None else f"{value:{form}}"


def signed(value, base, form="+.2f"):
    """The difference to base, or nothing where one of them is missing."""
    return "" if value is None or base is None else f"{value - base:{form}}"
