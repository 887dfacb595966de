"""`search` itself, and facts that hold for every search method."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, compiled
from support.models.searches import SOURCE, as_graph, model_that_ends, run_search
from support.processes.commands import ROOT

from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig


def test_prefixes_and_indices_are_optional_inputs():
    model, settings = model_that_ends(num_layers=1), {"method": "sample", "n_best": 2, "seed": 4}
    inputs = {"prefix": SOURCE[:2, :1], "indices": [7, 3]}

    def decode(source):
        return search(model, source, 5, SearchConfig(**settings), **inputs)

    if keras.backend.backend() == "jax":  # eagerly, JAX compiles each operation
        decode = as_graph(decode)
    tokens, scores = decode(ops.array(SOURCE[:2]))
    expected, expected_scores = run_search(model, SOURCE[:2], 5, **inputs, **settings)
    np.testing.assert_array_equal(array(tokens), expected)
    np.testing.assert_allclose(array(scores), expected_scores, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, {"beam": 1}], ids=["beam", "greedy"])
def test_xla_compiles_a_search(settings):
    model, config = model_that_ends(num_layers=1), SearchConfig(**settings)
    decode = compiled(lambda source: search(model, source, 30, config))
    tokens, scores = decode(ops.array(SOURCE))
    expected, expected_scores = run_search(model, **settings)
    np.testing.assert_array_equal(array(tokens), expected)
    np.testing.assert_allclose(array(scores), expected_scores, atol=1e-4)


@pytest.mark.long
def test_an_output_may_be_as_long_as_there_are_learned_positions():
    model = model_that_ends(num_layers=1, positions="learned", max_length=9)
    assert model.longest == 9
    tokens, scores = run_search(model, length=9)
    assert tokens.shape[-1] == 9 and np.isfinite(scores).all()


@pytest.mark.long
def test_jax_and_tensorflow_find_the_same(tmp_path):
    pytest.importorskip("jax")
    model = model_that_ends(num_layers=1)
    cases = [{"n_best": 2}, {"method": "sample", "n_best": 2, "top_p": 0.9}]
    np.savez(tmp_path / "weights.npz", *[array(weight) for weight in model.weights])
    program = f"""
import json, sys
sys.path.insert(0, "tests")
import numpy as np
from support.models.searches import model_that_ends, run_search
model = model_that_ends(num_layers=1)
with np.load({str(tmp_path / "weights.npz")!r}) as file:
    model.set_weights([file[name] for name in file.files])
results = [run_search(model, **settings) for settings in {cases!r}]
print(json.dumps([[part.tolist() for part in result] for result in results]))
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    on_jax = json.loads(result.stdout.splitlines()[-1])
    for settings, (jax_tokens, jax_scores) in zip(cases, on_jax, strict=True):
        tokens, scores = run_search(model, **settings)
        np.testing.assert_array_equal(tokens, jax_tokens)
        np.testing.assert_allclose(scores, jax_scores, atol=1e-4)
