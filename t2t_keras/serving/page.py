"""The web page at the server's root: a single document that calls the REST interface."""

import html
from pathlib import Path
from urllib.parse import quote

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.request import SEARCH, descriptions
from t2t_keras.visualization.page import assembled

HERE = Path(__file__).parent
SCRIPTS = ("request", "options", "words")
# HTML of the field for a search setting that has no field in page.html.
FIELD = """\
      <div class="field">
        <label for="{name}">{label}</label>
        <input id="{name}" {kind} aria-describedby="{name}-hint">
        <p class="hint" id="{name}-hint">{hint}</p>
      </div>"""
NUMBER = 'type="number" min="0" step="any" required'


def page(name):
    """Returns the HTML page for the model `name`."""
    scripts = {
        f"{part}_script": (HERE / f"page_{part}.js").read_text(encoding="utf-8").rstrip()
        for part in SCRIPTS
    }
    model = {"address": quote(name, safe=""), "name": html.escape(name)}
    return assembled(HERE / "page.html", further_fields=further_fields(), **scripts, **model)


def further_fields():
    """Returns the HTML of fields for all search settings that have no field in page.html.

    The page shows only the fields of options that the model offers.
    """
    template, hints = (HERE / "page.html").read_text(encoding="utf-8"), descriptions(SearchConfig)
    defaults, fields = SearchConfig(), []
    for name in SEARCH:
        if f'id="{name}"' not in template:
            is_number = isinstance(getattr(defaults, name), int | float)
            hint, label = hints[name], name.replace("_", " ")
            texts = {
                "label": label[0].upper() + label[1:],
                "hint": html.escape(hint[0].upper() + hint[1:]),
                "kind": NUMBER if is_number else 'autocomplete="off"',
            }
            fields.append(FIELD.format(name=name, **texts))
    return "\n".join(fields)
