"""Writes results as tables in Markdown and CSV, with notes on the measurement."""

import csv
import datetime
import io
from pathlib import Path

from pipelines.atomic_files import write_text
from t2t_keras.processor import processor_text
from t2t_keras.training.hardware.hardware_description import gpu_names


def write_table(path, rows, notes):
    """Writes `path`.md, with the notes below the table, and `path`.csv; returns the Markdown.

    `rows` is a list of {column: text of the cell}. The first row has all columns.
    """
    columns = list(rows[0])
    cells = [[row.get(column, "") for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(line, widths, strict=True))} |"
        for line in (columns, ["-" * width for width in widths], *cells)
    ]
    markdown = "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n"
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([columns, *cells])
    for suffix, contents in ((".md", markdown), (".csv", table.getvalue())):
        write_text(Path(f"{path}{suffix}"), contents)
    return markdown


def circumstances(plan, machine=None):
    """Returns the notes that end every table: date, machine (by default this one) and command."""
    notes = [f"{datetime.date.today()}, {machine or this_machine()}"]
    return [*notes, f"`{plan.command}`"] if plan.command else notes


def this_machine():
    """Describes the GPUs of this machine, or its processor if there are none."""
    if names := gpu_names():
        return f"{len(names)} × {names[0]}"
    return processor_text()


def number(value, form=".2f"):
    """Formats a number; None becomes an empty cell."""
    return "" if value is None else f"{value:{form}}"


def signed(value, base, form="+.2f"):
    """Formats value − base; the cell is empty if either of them is None."""
    return "" if value is None or base is None else f"{value - base:{form}}"
