"""The result of an experiment: sentences, tables and a plot."""

import operator
from typing import NamedTuple

from t2t_keras.stages.table_writer import write_table
from t2t_keras.visualization.line_panels import line_panels


class Finding(NamedTuple):
    """The result of an experiment.

    Args:
        title: the claim in a few words.
        claim: quotation from the paper, with its section.
        sentences: summary of the measurements, for a reader of the paper.
        tables: {name of the table's files: list of rows}. A row is {column: text of the cell}.
        panels: the `Panel`s of the plot.
        notes: list of notes on how the result was measured.
    """

    title: str
    claim: str
    sentences: str
    tables: dict
    panels: list
    notes: list


def write_finding(folder, name, finding):
    """Writes the plot NAME.png and all tables; returns the finding as Markdown."""
    picture = folder / f"{name}.png"
    unfinished = picture.with_name(f"{picture.name}.unfinished")
    line_panels(unfinished, finding.panels)
    unfinished.rename(picture)
    tables = []
    for table, rows in finding.tables.items():
        columns = {column: operator.itemgetter(column) for column in rows[0]}
        tables.append(write_table(folder / table, columns, rows, notes=[]).strip())
    notes = "\n".join(f"- {note}" for note in finding.notes) + "\n"
    parts = [f"## {finding.title}", f"> {finding.claim}", finding.sentences]
    return "\n\n".join([*parts, f"![{finding.title}]({picture.name})", *tables, notes])
