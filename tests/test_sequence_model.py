"""The facts that hold for every model: the Transformer and its rivals."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, compiled, pairs, tensors, tiny_model
from support.models.rival_models import rival

NAMES = [
    *("transformer", "gnmt, other widths", "convs2s"),
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in ("gnmt, fast-forward", "moe", "bytenet, other widths")
    ),
]


@pytest.fixture(params=NAMES, scope="module")
def model(request):
    return tiny_model(output_bias=True) if request.param == "transformer" else rival(request.param)


@pytest.fixture
def inputs(model):
    return pairs(vocab_size=model.config.source_vocab_size or model.config.vocab_size)


def test_later_tokens_do_not_change_earlier_logits(model, inputs):
    before = array(model(inputs))
    assert before.shape == (3, 6, 50)
    for position in (1, 5):
        changed = {**inputs, "target": inputs["target"].copy()}
        changed["target"][:, position] = 13
        after = array(model(changed))
        np.testing.assert_allclose(after[:, :position], before[:, :position], atol=1e-6)
        assert not np.allclose(after[:, position], before[:, position])


def test_padding_is_ignored(model, inputs):
    short = array(model(inputs))
    padded = {name: np.pad(value, ((0, 0), (0, 5))) for name, value in inputs.items()}
    np.testing.assert_allclose(array(model(padded))[:, :6], short, atol=1e-5)
    alone = {"source": inputs["source"][1:2, :4], "target": inputs["target"][1:2]}
    np.testing.assert_allclose(array(model(alone))[0], short[1], atol=1e-5)


def test_every_source_token_matters(model, inputs):
    before = array(model(inputs))
    for position in (0, 3, 6):
        changed = {**inputs, "source": inputs["source"].copy()}
        changed["source"][0, position] = (changed["source"][0, position] + 1) % 30 + 3
        assert np.abs(array(model(changed))[0] - before[0]).max() > 1e-6


@pytest.mark.jax
def test_cached_decoding_equals_uncached_and_is_traced_once(model, inputs):
    inputs = tensors(inputs)
    expected = array(model(inputs))
    memory, cache = model.start_decoding(inputs["source"], max_length=8)
    traces = []

    def step(tokens, position, cache, memory):
        traces.append(position)
        return model.decode_step(tokens, position, cache, memory)

    step = compiled(step, xla=False)
    for position in range(6):
        index = ops.convert_to_tensor(position, dtype="int32")
        logits, cache = step(inputs["target"][:, position], index, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)
    assert len(traces) == 1, "the shapes of the cache change"


def test_a_hypothesis_may_continue_a_different_one(model, inputs):
    source = inputs["source"][:1]
    targets = np.array([[1, 5, 6, 7], [1, 5, 9, 4]])  # both continue hypothesis 1
    expected = array(model({"source": source.repeat(2, axis=0), "target": targets}))
    memory, cache = model.start_decoding(ops.array(source), max_length=4, beams=2)
    tokens = np.array([[1, 8, 6, 7], [1, 5, 9, 4]])
    visible = np.zeros((1, 2, 8), "bool")
    for position in range(4):
        if position == 2:
            visible[:, 0] = visible[:, 1]
        visible[:, [0, 1], [2 * position, 2 * position + 1]] = True
        step = ops.array(tokens[:, position]), position, cache, memory, ops.array(visible)
        logits, cache = model.decode_step(*step)
        if position >= 2:
            np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


def test_a_saved_model_is_the_same_after_loading(model, inputs, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.config == model.config
    np.testing.assert_array_equal(array(loaded(inputs)), array(model(inputs)))


@pytest.mark.parametrize("name", ["gnmt", "convs2s", "bytenet"])
def test_the_cache_of_a_rival_does_not_grow_with_the_length(name):
    model, source = rival(name), ops.array(pairs()["source"])
    shapes = [
        [each.shape for each in keras.tree.flatten(model.start_decoding(source, length, 2)[1])]
        for length in (4, 16)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("name", ["gnmt", "convs2s"])
def test_attention_weights_of_a_rival_are_distributions_over_the_source(name):
    model = rival(name)
    weights = model.attention_weights(tensors(pairs()))
    names = [f"decoder/{i}/cross_attention" for i in range(model.config.attention_layers[2])]
    assert list(weights) == names
    for each in map(array, weights.values()):
        assert each.shape == (3, 1, 6, 7)
        np.testing.assert_allclose(each.sum(axis=-1), 1, atol=1e-5)
        assert np.all(each[1, :, :, 4:] == 0)
