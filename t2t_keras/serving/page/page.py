"""The web page at the server's root: a single document that calls the REST interface."""

import html
from pathlib import Path

from t2t_keras.serving.limits import Limits
from t2t_keras.serving.page.example_sentences import example_in
from t2t_keras.visualization.page import assembled, script_safe

HERE = Path(__file__).parent
# The parts of the page's script, one file each.
SCRIPTS = ("server", "options", "text", "attention", "words")
SCRIPTS += ("translations", "request", "files", "models")


def page(models, limits=None):
    """Returns the HTML page for a server's models, (name, `Languages` or None), with `Limits`."""
    limits = limits or Limits()
    files = ["page.css", *(f"page_{part}.js" for part in SCRIPTS)]
    style, *scripts = ((HERE / name).read_text(encoding="utf-8").rstrip() for name in files)
    data = {
        "models": [model_data(*model) for model in models],
        "limits": {"text": limits.max_text_bytes, "body": limits.max_body_bytes},
    }
    return assembled(
        HERE / "page.html",
        page_style=style,
        page_scripts="\n\n".join(scripts),
        name=html.escape(models[0][0]),
        data=script_safe(data),
    )


def model_data(name, languages):
    """Returns the facts about a model that the page needs, as a dict for JSON."""
    if languages is None:
        return {"name": name, "source": None, "target": None, "example": None}
    return {"name": name, **languages._asdict(), "example": example_in(languages.source)}
