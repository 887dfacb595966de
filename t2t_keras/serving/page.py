"""The web page at the server's root: a single document that calls the REST interface."""

import html
from pathlib import Path
from urllib.parse import quote

from t2t_keras.visualization.page import assembled

HERE = Path(__file__).parent
SCRIPTS = ("request", "options", "words")


def page(name):
    """Returns the HTML page for the model `name`."""
    scripts = {
        f"{part}_script": (HERE / f"page_{part}.js").read_text(encoding="utf-8").rstrip()
        for part in SCRIPTS
    }
    model = {"address": quote(name, safe=""), "name": html.escape(name)}
    return assembled(HERE / "page.html", **scripts, **model)
