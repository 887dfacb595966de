"""The web page at the server's root: one file that calls the REST interface."""

import html
from pathlib import Path
from urllib.parse import quote

from t2t_keras.visualization.page import assembled

TEMPLATE = Path(__file__).with_name("page.html")


def page(name):
    """Returns the HTML page for the model `name`."""
    return assembled(TEMPLATE, address=quote(name, safe=""), name=html.escape(name))
