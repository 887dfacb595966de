"""What all searches have in common: constraints, ensembles, backends."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from commands import ROOT
from helpers import array, tiny_model
from keras import ops
from searches import SOURCE, found, model_that_ends, score_of

from t2t_keras.decoding.ensemble import Ensemble


def test_padding_and_begin_are_never_written():
    model = model_that_ends()
    bias = array(model.embedding.bias).copy()
    bias[:2] = 100.0
    model.embedding.bias.assign(bias)
    for settings in ({}, {"beam": 1}, {"method": "sample"}):
        tokens, _ = found(model, **settings)
        for row in tokens[:, 0]:
            length = (row > 0).sum()
            assert (row[:length] > 1).all() and length > 0


SEARCHES = [{}, {"method": "sample", "seed": 3}, {"beam": 1}]
LENGTHS = [2, 1, 3]
if keras.backend.backend() == "jax":  # compiles for minutes; greedy search is a part of sampling
    SEARCHES, LENGTHS = SEARCHES[:2], LENGTHS[:1]


@pytest.mark.parametrize("settings", SEARCHES)
class TestConstraints:
    def test_what_is_banned_is_not_written_and_scores_stay_those_of_the_model(self, settings):
        model = model_that_ends()
        free, _ = found(model, **settings)
        banned = tuple(int(token) for token in np.unique(free) if token > 2)[:5]
        tokens, scores = found(model, banned=banned, **settings)
        assert not np.isin(tokens, banned).any() and np.isin(free, banned).any()
        for source, row, score in zip(SOURCE, tokens[:, 0], scores[:, 0], strict=True):
            assert score == pytest.approx(score_of(model, source, row), rel=1e-4)

    def test_an_output_begins_with_one_of_the_first(self, settings):
        model = model_that_ends()
        free, _ = found(model, **settings)
        tokens, _ = found(model, first=(17, 23), **settings)
        assert np.isin(tokens[:, 0, 0], (17, 23)).all()
        assert not np.isin(free[:, 0, 0], (17, 23)).all()

    def test_each_output_begins_with_its_own_prefix(self, settings):
        model = model_that_ends()
        prefix = np.array([[7, 8, 9], [10, 11, 0], [12, 0, 0], [0, 0, 0], [13, 14, 15]], "int32")
        tokens, scores = found(model, prefix=prefix, **settings)
        free, _ = found(model, **settings)
        for row, start in zip(tokens[:, 0], prefix, strict=True):
            np.testing.assert_array_equal(row[: (start > 0).sum()], start[start > 0])
        np.testing.assert_array_equal(tokens[3], free[3])
        assert scores[0, 0] == pytest.approx(score_of(model, SOURCE[0], tokens[0, 0]), rel=1e-4)

    @pytest.mark.parametrize("n", LENGTHS)
    def test_no_n_gram_is_written_twice(self, settings, n):
        model = model_that_ends()
        bias = array(model.embedding.bias).copy()
        bias[2], bias[5:7] = -3.0, 6.0  # it would stammer
        model.embedding.bias.assign(bias)

        def repeats(row):
            row = row[row > 0].tolist()
            grams = [tuple(row[i : i + n]) for i in range(len(row) - n + 1)]
            return len(grams) - len(set(grams))

        free, _ = found(model, **settings)
        tokens, _ = found(model, no_repeat_ngram=n, **settings)
        assert sum(repeats(row) for row in free[:, 0]) > 0
        assert sum(repeats(row) for row in tokens[:, 0]) == 0


def test_an_ensemble_of_equals_is_each_of_them():
    model = model_that_ends()
    tokens, scores = found(model)
    together, of_together = found(Ensemble([model, model]))
    np.testing.assert_array_equal(together, tokens)
    np.testing.assert_allclose(of_together, scores, atol=1e-4)


@pytest.mark.one_backend
def test_an_ensemble_follows_the_mean_of_the_log_probabilities():
    models = [model_that_ends(), model_that_ends(2, num_layers=1, d_model=8)]
    tokens, _ = found(Ensemble(models), beam=1, length=10)
    written = tokens[:, 0]
    inputs = {"source": SOURCE, "target": np.insert(written[:, :-1], 0, 1, axis=1)}
    inputs = {name: ops.array(x) for name, x in inputs.items()}
    log_p = sum(array(ops.log_softmax(model(inputs))) for model in models)
    log_p[..., :2] = -np.inf
    lengths = (written > 0).sum(-1)
    for row, greediest, length in zip(written, log_p.argmax(-1), lengths, strict=True):
        np.testing.assert_array_equal(row[:length], greediest[:length])
    assert lengths.max() == 10
    assert not np.array_equal(tokens, found(models[0], beam=1, length=10)[0])


def test_models_of_several_vocabularies_are_no_ensemble():
    with pytest.raises(ValueError, match=r"one vocabulary.*\[40, 50\]"):
        Ensemble([model_that_ends(), tiny_model()])
    with pytest.raises(ValueError, match="one or more models"):
        Ensemble([])


def test_learned_positions_end_a_search_in_time():
    model = model_that_ends(positions="learned", max_length=9)
    assert model.longest == 9
    tokens, scores = found(model, length=9)
    assert tokens.shape[-1] == 9 and np.isfinite(scores).all()
    assert Ensemble([model, model_that_ends()]).longest == 9


@pytest.mark.one_backend
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="compares TensorFlow with JAX")
@pytest.mark.parametrize(
    "settings", [{"n_best": 2}, {"method": "sample", "n_best": 2, "top_p": 0.9}]
)
def test_jax_finds_the_same(settings, tmp_path):
    pytest.importorskip("jax")
    model = model_that_ends()
    np.savez(tmp_path / "weights.npz", *[array(weight) for weight in model.weights])
    program = f"""
import json, sys
sys.path.insert(0, "tests/support")
import numpy as np
from searches import SOURCE, found, model_that_ends
model = model_that_ends()
with np.load({str(tmp_path / "weights.npz")!r}) as file:
    model.set_weights([file[name] for name in file.files])
print(json.dumps([part.tolist() for part in found(model, **{settings!r})]))
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    theirs, their_scores = json.loads(result.stdout.splitlines()[-1])
    tokens, scores = found(model, **settings)
    np.testing.assert_array_equal(tokens, theirs)
    np.testing.assert_allclose(scores, their_scores, atol=1e-4)
