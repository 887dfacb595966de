"""Pages that work offline: a single HTML file each, for attention and for reports."""

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
SHOW_ATTENTION = """
const page = JSON.parse(document.getElementById("data").textContent);
document.getElementById("sentence").textContent = page.sentence;
document.getElementById("translation").textContent = page.translation;
document.title = `Attention: ${page.sentence}`;
show(page.kinds);
"""
UNFOLD_FOR_PRINTING = """
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
"""


def page(sub_layers, sentence, translation):
    """Returns the HTML of the attention page, which contains all weights of a list of `Heads`."""
    data = {"sentence": sentence, "translation": translation, "kinds": {}}
    for heads in sub_layers:
        name = f"{heads.stack}-{heads.kind.removesuffix('_attention')}"
        words = {"queries": heads.queries, "keys": heads.keys}
        kind = data["kinds"].setdefault(name, {"title": TITLES[name], **words, "layers": []})
        # Integers in thousandths take a third of the space.
        kind["layers"].append(np.rint(np.asarray(heads.weights) * 1000).astype(int).tolist())
    body = assembled(HERE / "attention.html", data=script_safe(data))
    parts = {"title": "<title>Attention</title>", "script": read("attention.js") + SHOW_ATTENTION}
    return assembled(HERE / "page.html", body=body, **parts)


def report_page(title, body):
    """Returns the HTML of a report with the elements `title` and `body`."""
    style = read("attention.css") + read("report.css")
    parts = {"title": title, "style": style, "script": UNFOLD_FOR_PRINTING}
    return assembled(HERE / "page.html", body=body, **parts)


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def assembled(template, **parts):
    """Returns the text of a template in which each part replaces its name in double braces.

    Unless given, `style` and `script` are those that draw attention. All names are replaced at
    once, so a part may contain names in braces.
    """
    text = template.read_text(encoding="utf-8")
    parts = {"style": read("attention.css"), "script": read("attention.js")} | parts
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], text)


def script_safe(data):
    """Returns JSON that is safe inside a `<script>` element."""
    text = json.dumps(data, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
