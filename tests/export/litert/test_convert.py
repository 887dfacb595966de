"""The programs of a model for LiteRT compute what the model computes."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support.models.helpers import tiny_model
from support.models.rival_models import RIVALS, rival
from tensorflow.lite.tools.flatbuffer_utils import convert_bytearray_to_object

from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.formats import LITERT_MODEL, PORTABLE_MODEL
from t2t_keras.export.litert.convert import flatbuffer_of, save_litert, save_portable
from t2t_keras.export.litert.flatbuffers import joined
from t2t_keras.export.litert.programs import Program, layout_of, programs_of
from t2t_keras.translating.engines.litert_model import LiteRTModel, programs_in

SOURCE = np.array([[5, 6, 7, 8, 9, 2], [7, 8, 2, 0, 0, 0], [4, 9, 11, 12, 2, 0]], "int32")
RESTRICTED = {"neighbourhood": 3, "decoder_neighbourhood": 4, "positions": "t5", "num_layers": 1}
# Ordinary Transformers are searched in tests/translating/engines/test_contract.py.
OFTEN = ("restricted", "convs2s")


def make(name):
    if name in RIVALS:
        return rival(name)
    return {
        "restricted": lambda: tiny_model(**RESTRICTED),
        "learned": lambda: tiny_model(positions="learned", max_length=26),
        "alibi": lambda: tiny_model(positions="alibi", attention="additive"),
        "pre-norm": lambda: tiny_model(pre_norm=True, activation="swish"),
    }[name]()


def converted(model, *names, beam=3, dtype="float32"):
    """Returns a flatbuffer with some of the programs of a model."""
    programs = programs_of(model, beam)
    weights = [each.value for each in model.weights]
    return flatbuffer_of({name: programs[name] for name in names}, weights, dtype)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in OFTEN else pytest.mark.nightly)
        for name in ("restricted", "learned", "alibi", "pre-norm", *RIVALS)
        if name != "moe"
    ],
)
def test_every_model_is_searched_with_the_same_results(name):
    model, config = make(name), SearchConfig(beam=3, extra_length=8)
    programs = programs_in(converted(model, "encode", "step_3"))
    layout = json.loads(json.dumps(layout_of(model, 3)))
    method = method_of(LiteRTModel(programs, layout, model.longest), config)
    tokens, scores = map(np.array, search(model, SOURCE, 14, config))
    found = numpy_search(method, SOURCE, 14)
    length = min(tokens.shape[2], found.tokens.shape[2])
    np.testing.assert_array_equal(found.tokens[:, :, :length], tokens[..., :length])
    assert not found.tokens[:, :, length:].any() and not tokens[..., length:].any()
    np.testing.assert_allclose(found.scores, scores, atol=1e-4)


@pytest.mark.nightly
def test_a_program_computes_the_same_when_it_runs_again():
    """The last layers of this model need more memory than those before them.

    Before programs were planned again after their first run, one load in 75 was wrong from the
    second run on.
    """
    contents, source = converted(make("convs2s"), "encode"), np.zeros((1, 16), "int32")
    source[0, :6] = SOURCE[0]
    for _ in range(400):
        encode = programs_in(contents)["encode"]
        first, second = encode(source=source), encode(source=source)
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.long
def test_a_model_that_litert_cannot_compute_is_refused_in_one_line(tmp_path):
    message = r"^this MoE cannot be exported for LiteRT: LiteRT has no UpperBound$"
    with pytest.raises(ValueError, match=message):
        save_litert(tmp_path, rival("moe"), 2)
    assert not (tmp_path / LITERT_MODEL).exists()


@pytest.mark.long
def test_int8_weights_are_a_quarter_and_change_probabilities_little():
    model = tiny_model(vocab_size=4000, d_model=64, d_ff=128, num_layers=1)
    sizes, log_p = [], []
    for dtype in ("float32", "int8"):
        contents = converted(model, "log_p", beam=1, dtype=dtype)
        sizes.append(len(contents))
        found = programs_in(contents)["log_p"](source=SOURCE[:1], target=SOURCE[:1])
        log_p.append(found["log_p"])
    assert sizes[1] < 0.62 * sizes[0]  # the embeddings and the logits each have an int8 matrix
    assert 0 < np.abs(log_p[0] - log_p[1]).max() < 0.3


@pytest.mark.long
def test_a_portable_file_has_the_whole_search_for_batches_of_any_size(tmp_path):
    model = tiny_model(positions="learned", max_length=12, num_layers=1)
    settings = {"beam": 2, "n_best": 2, "banned": (5,), "no_repeat_ngram": 2}
    config = SearchConfig(extra_length=9, **settings)
    save_portable(tmp_path, model, config)
    translate = programs_in((tmp_path / PORTABLE_MODEL).read_bytes())["translate"]
    for source, longest in ((SOURCE, 12), (SOURCE[1:2, :3], 12), (SOURCE[1:2, :2], 11)):
        found = translate(source=source)
        tokens, scores = map(np.array, search(model, source, longest, config))
        length = found["tokens"].shape[2]
        np.testing.assert_array_equal(found["tokens"], tokens[:, :, :length])
        assert not tokens[:, :, length:].any()
        np.testing.assert_allclose(found["scores"], scores, atol=1e-4)


def doubled(matrix, steps):
    """Returns a program with a matrix and a loop."""

    def function(x):
        _, x = tf.while_loop(lambda i, x: i < steps, lambda i, x: (i + 1, x * 2.0), (0, x))
        return {"y": x @ matrix}

    return Program(function, {"x": tf.TensorSpec([None, 64], tf.float32)})


@pytest.mark.long
def test_joined_programs_keep_their_loops_and_share_their_constants():
    matrix = tf.Variable(np.random.default_rng(0).normal(size=(64, 64)).astype("float32"))
    data = flatbuffer_of({"twice": doubled(matrix, 1), "eight": doubled(matrix, 3)}, [matrix])
    assert len(data) < 1.5 * 64 * 64 * 4
    found = programs_in(bytes(data))
    for rows in (1, 3, 2):
        x = np.random.default_rng(rows).normal(size=(rows, 64)).astype("float32")
        for name, factor in (("twice", 2), ("eight", 8)):
            expected = factor * x @ matrix.numpy()
            np.testing.assert_allclose(found[name](x=x)["y"], expected, rtol=1e-4, atol=1e-3)
    assert joined([convert_bytearray_to_object(data)]) == data
