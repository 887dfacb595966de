"""The programs of a model for LiteRT compute what the model computes."""

import numpy as np
import pytest
import tensorflow as tf
from support.models.helpers import disturbed, tiny_model
from support.models.rival_models import RIVALS, rival

from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.formats import LITERT_MODEL, PORTABLE_MODEL
from t2t_keras.export.litert.convert import flatbuffer_of, save_litert, save_portable
from t2t_keras.export.litert.flatbuffers import joined, unpacked
from t2t_keras.export.litert.programs import Program, programs_of
from t2t_keras.translating.engines.litert_model import LiteRTModel
from t2t_keras.translating.engines.litert_runtime import programs_in

SOURCE = np.array([[5, 6, 7, 8, 9, 2], [7, 8, 2, 0, 0, 0], [4, 9, 11, 12, 2, 0]], "int32")
CONVERTED = [name for name in RIVALS if name != "moe"]


def make(name):
    if name in RIVALS:
        return rival(name)
    return {
        "restricted": lambda: tiny_model(neighbourhood=3, decoder_neighbourhood=4, positions="t5"),
        "learned": lambda: tiny_model(positions="learned", max_length=26),
        "alibi": lambda: tiny_model(positions="alibi", attention="additive"),
        "pre-norm": lambda: tiny_model(pre_norm=True, activation="swish"),
        "ensemble": lambda: Ensemble([tiny_model(), disturbed(tiny_model(), seed=5)]),
    }[name]()


def loaded(folder, model, **options):
    layout = save_litert(folder, model, 3, **options)
    layout["caches"] = {str(width): each for width, each in layout["caches"].items()}  # as in JSON
    return LiteRTModel(programs_in((folder / LITERT_MODEL).read_bytes()), layout, model.longest)


ALWAYS = ("restricted", "ensemble", "gnmt", "convs2s", "bytenet")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in ALWAYS else pytest.mark.nightly)
        for name in ("restricted", "learned", "alibi", "pre-norm", "ensemble", *CONVERTED)
    ],
)
def test_every_model_is_searched_with_the_same_results(name, tmp_path):
    model = make(name)
    programs = loaded(tmp_path, model)
    for beam in (3, 1):
        config = SearchConfig(beam=beam, extra_length=20)
        tokens, scores = search(model, SOURCE, 26, config)
        found = numpy_search(method_of(programs, config), SOURCE, 26)
        length = min(tokens.shape[2], found.tokens.shape[2])
        np.testing.assert_array_equal(found.tokens[:, :, :length], np.array(tokens)[..., :length])
        assert not found.tokens[:, :, length:].any() and not np.array(tokens)[..., length:].any()
        np.testing.assert_allclose(found.scores, np.array(scores), atol=1e-4)


@pytest.mark.long
def test_a_program_computes_the_same_when_it_runs_again(tmp_path):
    """The last layers of this model need more memory than those before them.

    Before programs were planned again after their first run, one load in 75 was wrong from the
    second run on.
    """
    save_litert(tmp_path, make("convs2s"), 1)
    contents, source = (tmp_path / LITERT_MODEL).read_bytes(), np.zeros((1, 16), "int32")
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
def test_int8_weights_are_a_quarter_and_change_the_logits_little(tmp_path):
    model = tiny_model(vocab_size=4000, d_model=64, d_ff=128, num_heads=2)
    steps, sizes = [], []
    for dtype in ("float32", "int8"):
        (tmp_path / dtype).mkdir()
        programs = loaded(tmp_path / dtype, model, dtype=dtype)
        _, cache = programs.start_decoding(SOURCE, 16, 3)
        tokens = np.full(9, 1, "int32")
        visible = np.zeros((3, 3, 48), bool)
        logits, _ = programs.decode_step(tokens, 0, cache, None, visible)
        steps.append(np.array(logits))
        sizes.append((tmp_path / dtype / LITERT_MODEL).stat().st_size)
    assert sizes[1] < 0.62 * sizes[0]  # the embeddings and the logits each have an int8 matrix
    difference = np.abs(steps[0] - steps[1]).max() / steps[0].std()
    assert 0 < difference < 0.3


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [{"beam": 3, "n_best": 2, "banned": (5,)}, {"beam": 1}, {"beam": 2, "no_repeat_ngram": 2}],
)
def test_a_portable_file_has_the_whole_search_for_batches_of_any_size(settings, tmp_path):
    model, config = tiny_model(), SearchConfig(extra_length=9, **settings)
    save_portable(tmp_path, model, config)
    translate = programs_in((tmp_path / PORTABLE_MODEL).read_bytes())["translate"]
    for source in (SOURCE, SOURCE[1:2, :3], SOURCE[:2]):
        found, expected = translate(source=source), search(model, source, 15, config)
        expected = [np.array(each) for each in expected]
        length = found["tokens"].shape[2]
        np.testing.assert_array_equal(found["tokens"], expected[0][:, :, :length])
        assert not expected[0][:, :, length:].any()
        np.testing.assert_allclose(found["scores"], expected[1], atol=1e-4)


@pytest.mark.parametrize("settings", [{"method": "sample"}, {"constrain": "tree"}])
def test_what_a_portable_file_cannot_do_is_refused(settings, tmp_path):
    with pytest.raises(ValueError, match=f"`{next(iter(settings))}` must be .* a portable file"):
        save_portable(tmp_path, tiny_model(), SearchConfig(**settings))


def doubled(matrix, steps):
    """Returns a program with a matrix and a loop."""

    def function(x):
        _, x = tf.while_loop(lambda i, x: i < steps, lambda i, x: (i + 1, x * 2.0), (0, x))
        return {"y": x @ matrix}

    return Program(function, {"x": tf.TensorSpec([None, 64], tf.float32)})


def test_joined_programs_keep_their_loops_and_share_their_constants(tmp_path):
    matrix = tf.Variable(np.random.default_rng(0).normal(size=(64, 64)).astype("float32"))
    programs = {"twice": doubled(matrix, 1), "eight": doubled(matrix, 3)}
    data = flatbuffer_of(programs, [matrix])
    assert len(data) < 1.5 * 64 * 64 * 4
    found = programs_in(bytes(data))
    for rows in (1, 3, 2):
        x = np.random.default_rng(rows).normal(size=(rows, 64)).astype("float32")
        for name, factor in (("twice", 2), ("eight", 8)):
            expected = factor * x @ matrix.numpy()
            np.testing.assert_allclose(found[name](x=x)["y"], expected, rtol=1e-4, atol=1e-3)
    assert joined([unpacked(data)]) == data


def test_the_programs_of_a_model_are_a_step_for_each_beam_and_what_surrounds_it():
    programs = programs_of(tiny_model(), 4)
    assert list(programs) == ["encode", "step_1", "step_4", "log_p", "attention"]
    assert list(programs_of(tiny_model(), 1)) == ["encode", "step_1", "log_p", "attention"]
    assert "attention" not in programs_of(rival("bytenet"), 2)
