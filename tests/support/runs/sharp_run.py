"""A run with random weights that is sure of most tokens and writes 2 to 12 of them."""

import json

import numpy as np
from support.runs.untrained import toy_tokenizer, untrained_run

from t2t_keras.training.checkpoints import model_state


def write_sharp_run(folder):
    """Creates the run, whose words are aligned by a shifted head, and returns its folder."""
    vocabulary = folder / "vocabulary"
    run = untrained_run(folder / "run", vocabulary, toy_tokenizer(vocabulary), extra_length=9)
    model, random = run.loaded(None), np.random.default_rng(4)
    for weight in model.weights:
        if len(weight.shape) == 2:
            scale = 0.5 if weight.path.endswith("matrix") else 0.3
            weight.assign(random.normal(0, scale, weight.shape))
    matrix, bias = model.embedding.matrix.numpy(), np.zeros(400)
    matrix[2], matrix[:, 5], matrix[2, 5] = 0, 0, 60  # the end follows a sinusoid of the positions
    bias[:3] = -30, -30, -20
    model.embedding.matrix.assign(matrix)
    model.embedding.bias.assign(bias)
    run.averaged.write(model_state(model), None, None)
    head = {"layer": 0, "head": 1, "shifted": True}
    (run.folder / "alignment.json").write_text(json.dumps({"head": head}))
    return run.folder
