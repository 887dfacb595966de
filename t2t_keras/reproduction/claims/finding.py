"""The result of an experiment: tables and a plot."""

from typing import NamedTuple

from pipelines.atomic_files import atomic_file
from t2t_keras.stages.table_writer import write_table
from t2t_keras.visualization.panels import draw_panels


class Finding(NamedTuple):
    """The result of an experiment.

    Args:
        title: the claim in a few words.
        claim: quotation from the paper, with its section.
        tables: {name of the table's files: list of rows}. A row is {column: text of the cell}.
        panels: the `Panel`s of the plot; if empty, there is no plot.
        notes: list of notes on how the result was measured.
        pictures: {name of a further picture: function that draws it into a PNG file}.
    """

    title: str
    claim: str
    tables: dict
    panels: list
    notes: list
    pictures: dict = {}


def write_finding(folder, name, finding):
    """Writes the plot NAME.png, further pictures and tables; returns the finding as Markdown."""
    pictures = finding.pictures
    if finding.panels:
        pictures = {name: lambda file: draw_panels(file, finding.panels), **pictures}
    for picture, draw in pictures.items():
        with atomic_file(folder / f"{picture}.png") as file:
            draw(file)
    tables = []
    for table, rows in finding.tables.items():
        tables.append(write_table(folder / table, rows, notes=[]).strip())
    notes = "\n".join(f"- {note}" for note in finding.notes) + "\n"
    parts = [f"## {finding.title}", f"> {finding.claim}"]
    images = [f"![{finding.title}]({picture}.png)" for picture in pictures]
    return "\n\n".join([*parts, *images, *tables, notes])
