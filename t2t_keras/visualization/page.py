"""The attention page: a single HTML file that shows all heads and works offline."""

import json
import re
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TITLES = {
    "encoder-self": "Encoder self-attention",
    "decoder-self": "Decoder self-attention",
    "decoder-cross": "Cross-attention",
}


def page(sub_layers, sentence, translation):
    """Returns the HTML of the page, which contains all weights.

    Args:
        sub_layers: a list of `Heads`.
        sentence, translation: texts that are shown at the top.
    """
    data = {"sentence": sentence, "translation": translation, "kinds": {}}
    for heads in sub_layers:
        name = f"{heads.stack}-{heads.kind.removesuffix('_attention')}"
        words = {"queries": heads.queries, "keys": heads.keys}
        kind = data["kinds"].setdefault(name, {"title": TITLES[name], **words, "layers": []})
        kind["layers"].append(thousandths(heads.weights))
    return assembled(HERE / "page.html", data=script_safe(data))


def assembled(template, **parts):
    """Fills a page template, including the style and script that draw attention.

    Args:
        template: path of the template. The style and the script replace `{{style}}` and
            `{{script}}`.
        **parts: other texts, see `filled`.
    """
    shared = {"style": HERE / "attention.css", "script": HERE / "attention.js"}
    texts = {name: path.read_text(encoding="utf-8").rstrip() for name, path in shared.items()}
    return filled(template, **texts, **parts)


def filled(template, **parts):
    """Returns the text of a template in which each part replaces its name in double braces.

    All names are replaced at once, so a part may contain names in braces.
    """
    text = template.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], text)


def thousandths(weights):
    """Returns weights as integers in thousandths, which take a third of the space."""
    return np.rint(np.asarray(weights) * 1000).astype(int).tolist()


def script_safe(data):
    """Returns JSON that is safe inside a `<script>` element."""
    text = json.dumps(data, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
