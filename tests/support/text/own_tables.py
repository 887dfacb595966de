"""Plug-in files with a cleaning rule, a source of text and metrics, from the how-to pages."""

import contextlib
import re
from pathlib import Path

from pipelines.preparation.source_table import SOURCES
from pipelines.text.cleaning_rules import RULES
from t2t_keras.evaluation.metric_settings import METRICS

PAGES = Path(__file__).parents[3]


def section(page, title):
    """Returns the first Python block after a title of a page."""
    text = (PAGES / page).read_text("utf-8").split(f"# {title}\n")[1]
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


@contextlib.contextmanager
def with_entries(code, file="mine.py"):
    """Executes a plug-in file in the block, and removes its entries at the end."""
    tables = RULES, SOURCES, METRICS
    before = [dict(table) for table in tables]
    try:
        exec(compile(code, file, "exec"), {})
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
