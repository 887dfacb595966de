"""Attention weights of all heads for one sentence, and heat maps of them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from keras import ops

from pipelines.atomic_files import atomic_file, full_disk_named
from pipelines.progress import Progress
from pipelines.special_ids import BEGIN, END, PADDING
from pipelines.tokenizers import lone_pieces, words
from t2t_keras.decoding.rows import Rows
from t2t_keras.visualization.heads import heads_of
from t2t_keras.visualization.heat_maps import heat_maps
from t2t_keras.visualization.page import page


class SentenceAttention(NamedTuple):
    """The attention weights of all heads for a sentence and its translation."""

    source: str
    translation: str
    heads: list  # the `Heads` of each attention sub-layer

    def save(self, folder):
        """Writes a heat map for each sub-layer, and an index.html to browse them offline."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with full_disk_named(folder), Progress("drawing", len(self.heads), "images") as progress:
            for done, heads in enumerate(self.heads, 1):
                path = folder / f"{heads.name}.png"
                heat_maps(path, heads.weights, heads.queries, heads.keys, heads.title)
                progress.to(done)
        with atomic_file(folder / "index.html") as file:
            file.write(page(self.heads, self.source, self.translation).encode())


def attention(run, sentence, translation=None, pieces=False, weights=None, **search):
    """Returns the `SentenceAttention` of a run; see `Run.attention`."""
    run.experiment()  # raises a clear error if the folder is not a run
    tokenizer = run.tokenizer()
    source = encoded(tokenizer.source, "sentence", sentence)
    target = None
    if translation is not None:
        target = encoded(tokenizer.target, "translation", translation)
    model = run.loaded(weights)
    if not any(model.config.attention_layers):
        raise ValueError(f"{run.folder} has no attention to show: it is a {type(model).__name__}")
    check_length(model, source, target or [])
    if target is None:
        rows = Rows(np.array([[*source, END]], "int32"), [0])
        tokens = np.asarray(run.engine(weights, **search).search(rows).tokens)[0, 0]
        target = [int(id) for id in tokens if id not in (PADDING, END)]
    heads = attention_heads(model, tokenizer, source, target, lone_pieces if pieces else words)
    texts = tokenizer.source.decode([source])[0], tokenizer.target.decode([target])[0]
    return SentenceAttention(*texts, heads)


def attention_heads(model, tokenizer, source, target, split=words):
    """Returns the `Heads` of every sub-layer while the model reads `source` and writes `target`.

    Both are ids without begin and end ids. With `lone_pieces` as `split`, the weights are between
    sub-words.
    """
    read, source, written = [BEGIN, *target], [*source, END], [*target, END]
    inputs = {"source": np.array([source], "int32"), "target": np.array([read], "int32")}
    weights = model.attention_weights(inputs)
    weights = {name: ops.convert_to_numpy(array) for name, array in weights.items()}
    targets = (split(tokenizer.target, ids) for ids in (read, written))
    return heads_of(weights, split(tokenizer.source, source), *targets)


def encoded(tokenizer, name, text):
    ids = tokenizer.encode([text])[0].tolist()
    if not ids:
        raise ValueError(f"the {name} is empty. Received: {text!r}")
    return ids


def check_length(model, source, target):
    """Rejects sequences that are longer than the model's learned positions."""
    longest = max(len(source), len(target)) + 1  # with the begin or end id
    if model.longest is not None and longest > model.longest:
        raise ValueError(
            f"the model has learned positions for {model.longest} tokens. Received: {longest} "
            "tokens. Shorten the sentence"
        )
