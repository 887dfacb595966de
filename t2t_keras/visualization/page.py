"""One page on which attention can be looked through: no network, no other file."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TITLES = {
    "encoder-self": "Encoder self-attention",
    "decoder-self": "Decoder self-attention",
    "decoder-cross": "Cross-attention",
}


def page(sub_layers, sentence, translation, start=""):
    """The page as HTML, with all weights in it.

    Args:
        sub_layers: a list of `Heads`.
        sentence, translation: what stands above.
        start: what is shown where the address says nothing, for example "#decoder-cross-6".
    """
    data = {"sentence": sentence, "translation": translation, "start": start, "kinds": {}}
    for heads in sub_layers:
        name = f"{heads.stack}-{heads.kind.removesuffix('_attention')}"
        words = {"looking": heads.looking, "lookedAt": heads.looked_at}
        kind = data["kinds"].setdefault(name, {"title": TITLES[name], **words, "layers": []})
        kind["layers"].append(thousandths(heads.weights))
    return assembled(HERE / "page.html", data=harmless(data))


def assembled(template, **parts):
    """A page with the picture of attention in it.

    Args:
        template: the file of the page. `{{style}}` and `{{script}}` stand where the picture's go.
        parts: what else goes where its name stands.
    """
    text = template.read_text(encoding="utf-8")
    shared = {"style": HERE / "attention.css", "script": HERE / "attention.js"}
    for name, path in shared.items():
        text = text.replace(f"{{{{{name}}}}}", path.read_text(encoding="utf-8").rstrip())
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def thousandths(weights):
    """Weights as whole numbers: exact enough to draw, and a third of the size."""
    return np.rint(np.asarray(weights) * 1000).astype(int).tolist()


def harmless(data):
    """JSON in which nothing can end the `<script>` that it stands in."""
    text = json.dumps(data, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
