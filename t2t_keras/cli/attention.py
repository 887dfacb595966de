"""t2t-attention: what the heads look at, and how runs have learned, as pictures.

t2t-attention runs/ende "The dog sleeps."
t2t-attention runs/ende "The dog sleeps." --translation="Der Hund schläft."
t2t-attention runs/ende "The dog sleeps." --pieces          sub-words, not joined to words
t2t-attention --curves runs/ende runs/other --output=curves

The first three write a heat map of all heads for each attention of each layer, and index.html,
on which they can be looked through in any browser, without a network. The translation is the
model's own unless one is given. The decoder's rows are named after the word that is written:
what the model looked at when it wrote it.

The last one writes curves.png: loss, perplexity, BLEU and learning rate of the runs.
"""

from pathlib import Path

import numpy as np
from absl import flags

from pipelines.progress import Progress
from pipelines.tokenizers import END, PADDING, lone_pieces, words
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.runs.looking import check_length, encoded, look
from t2t_keras.runs.run import Run
from t2t_keras.runs.translating import translator
from t2t_keras.visualization.curves import curves
from t2t_keras.visualization.heat_maps import heat_maps
from t2t_keras.visualization.page import page

TRANSLATION = flags.DEFINE_string("translation", None, "None: the model's own.")
PIECES = flags.DEFINE_bool("pieces", False, "Show sub-words.")
CURVES = flags.DEFINE_bool("curves", False, "Draw learning curves of runs.")
OUTPUT = flags.DEFINE_string("output", "attention", "The folder to write into.")


def main(arguments):
    folder = Path(OUTPUT.value)
    if CURVES.value:
        draw_curves(arguments, folder)
    elif len(arguments) == 2:
        draw_attention(Run(arguments[0]), arguments[1], folder)
    else:
        raise ValueError(
            "takes a run's folder and one sentence in quotation marks, or --curves and runs. "
            f"Received: {' '.join(arguments) or 'none'}"
        )


def draw_attention(trained, sentence, folder):
    search, tokenizer = trained.experiment().search, trained.tokenizer()
    source = encoded(tokenizer, "sentence", sentence)
    given = TRANSLATION.value
    target = None if given is None else encoded(tokenizer, "translation", given)
    model = trained.model(WEIGHTS.value)
    check_length(model, source, [] if target is None else target)
    if target is None:
        decode = translator(model, tokenizer, search_config(search, tokenizer)).decode
        tokens = np.asarray(decode(np.array([[*source, END]], "int32"), [0]).tokens)[0, 0]
        target = [int(id) for id in tokens if id not in (PADDING, END)]
    cut = lone_pieces if PIECES.value else words
    sub_layers = look(model, tokenizer, source, target, cut)
    text, translation = (tokenizer.decode([ids])[0] for ids in (source, target))
    folder.mkdir(parents=True, exist_ok=True)
    with Progress("drawing", len(sub_layers), "images") as progress:
        for done, heads in enumerate(sub_layers, 1):
            path = folder / f"{heads.name}.png"
            heat_maps(path, heads.weights, heads.looking, heads.looked_at, heads.title)
            progress.to(done)
    (folder / "index.html").write_text(page(sub_layers, text, translation), encoding="utf-8")
    print(translation)
    print(f"{len(sub_layers)} images and {folder / 'index.html'}")


def draw_curves(paths, folder):
    if not paths:
        raise ValueError("--curves takes the folders of one or several runs. Received: none")
    names = [Path(path).resolve().name for path in paths]
    names = names if len(set(names)) == len(names) else paths
    evaluations = {name: Run(path).evaluations() for name, path in zip(names, paths, strict=True)}
    folder.mkdir(parents=True, exist_ok=True)
    curves(folder / "curves.png", evaluations)
    print(folder / "curves.png")


def entry():
    run(main)


if __name__ == "__main__":
    entry()
