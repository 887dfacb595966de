"""What commands that show attention have in common: a sentence's ids, and the heads on them."""

import numpy as np
from keras import ops

from pipelines.tokenizers import BEGIN, END, words
from t2t_keras.visualization.heads import heads_of


def encoded(tokenizer, name, text):
    ids = tokenizer.encode([text])[0].tolist()
    if not ids:
        raise ValueError(f"the {name} is empty. Received: {text!r}")
    return ids


def check_length(model, source, target):
    """Refuses what learned positions do not reach, before anything is computed."""
    if model.config.positions == "learned":
        for positions, ids in ((model.source_positions, source), (model.target_positions, target)):
            positions.check_length(len(ids) + 1)


def look(model, tokenizer, source, target, cut=words):
    """The `Heads` of every sub-layer, when the model reads `source` and writes `target`.

    Args:
        source, target: ids without begin and end.
        cut: what is shown of them, `words` or `lone_pieces`.
    """
    read, source, written = [BEGIN, *target], [*source, END], [*target, END]
    inputs = {"source": np.array([source], "int32"), "target": np.array([read], "int32")}
    weights = model.attention_weights(inputs)
    weights = {name: ops.convert_to_numpy(array) for name, array in weights.items()}
    return heads_of(weights, *(cut(tokenizer, ids) for ids in (source, read, written)))
