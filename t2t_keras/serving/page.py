"""The page at the root: one file that asks the REST interface and needs nothing else."""

import html
from pathlib import Path
from urllib.parse import quote

from t2t_keras.visualization.page import assembled

TEMPLATE = Path(__file__).with_name("page.html")


def page(name):
    """The page as HTML, for the model of that name."""
    return assembled(TEMPLATE, address=quote(name, safe=""), name=html.escape(name))
