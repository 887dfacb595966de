"""The Transformer as a whole; test_sequence_model.py has the facts that it shares with rivals."""

import dataclasses

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import (
    OTHER_SYSTEMS,
    TINY,
    array,
    compiled,
    gradients,
    ids,
    pairs,
    tensors,
    tiny_model,
)
from support.models.reference import forward

from t2t_keras import LabelSmoothedCrossEntropy, Transformer, TransformerConfig

PAPER = {"vocab_size": 2000, "num_layers": 6, "d_model": 512, "d_ff": 2048, "num_heads": 8}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(OTHER_SYSTEMS, marks=pytest.mark.jax),
        {},
        {"activation": "gelu", "positions": "learned", "position_offset": 2, "d_k": 12, "d_v": 5},
        {"activation": "gelu_tanh", "positions": "hugging_face", "decoder_layers": 3},
        {"attention": "unscaled", "neighbourhood": 4, "decoder_neighbourhood": 3},
        {"positions": "t5", "attention": "additive", "d_k": 5, "decoder_neighbourhood": 3},
        pytest.param(
            {"positions": "alibi", "num_heads": 6, "d_k": 3, "d_v": 2, "neighbourhood": 5},
            marks=pytest.mark.jax,
        ),
        {"residual": False, "pre_norm": True, "activation": "gelu_sigmoid", "positions": "none"},
        {"layer_norm": False, "pre_norm": True, "num_layers": 1},
        {"source_vocab_size": 40, "tie_output": False, "norm_epsilon": 0.1, "source_end": False},
        pytest.param(PAPER, marks=pytest.mark.long),
    ],
)
def test_logits_equal_an_independent_numpy_forward_pass(settings):
    model = tiny_model(**settings)
    inputs = {"source": ids(2, 12, [12, 7], 40), "target": ids(2, 10, [10, 4], 40, seed=1)}
    weights = {
        weight.path.split("/", 1)[1]: ops.convert_to_numpy(weight).astype("float64")
        for weight in model.weights
    }
    expected = forward(weights, model.config, **inputs)
    assert expected.std() > 0.1
    np.testing.assert_allclose(array(model(inputs)), expected, rtol=0, atol=1e-4)


def test_logits_under_xla_are_the_same():
    model, inputs = tiny_model(num_layers=1, neighbourhood=3, positions="t5"), tensors(pairs())
    np.testing.assert_allclose(array(compiled(model)(inputs)), array(model(inputs)), atol=1e-5)


ALL_OPTIONS = {
    **OTHER_SYSTEMS,
    "positions": "learned",
    "attention": "additive",
    "neighbourhood": 3,
    "decoder_neighbourhood": 2,
}


@pytest.mark.jax
def test_gradients_reach_every_weight():
    model, inputs = tiny_model(**ALL_OPTIONS), tensors(pairs(vocab_size=40))
    loss, labels = LabelSmoothedCrossEntropy(), ops.array(pairs(seed=5)["target"])
    values = gradients(model, lambda: loss(labels, model(inputs)))
    for weight, gradient in zip(model.trainable_weights, values, strict=True):
        assert gradient is not None and np.any(gradient), weight.path


@pytest.mark.jax
def test_config_and_weight_file_restore_a_model_with_all_options(tmp_path):
    model, inputs = tiny_model(**ALL_OPTIONS), pairs(vocab_size=40)
    model.save_weights(tmp_path / "model.weights.h5")
    twin = Transformer.from_config(model.get_config())
    twin.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(array(twin(inputs)), array(model(inputs)))


def test_a_model_that_ignores_the_end_of_the_source_computes_as_if_it_was_not_there():
    model, inputs = tiny_model(source_end=False), pairs()
    expected = array(model(inputs))
    with_end = np.pad(inputs["source"], [(0, 0), (0, 1)])
    with_end[np.arange(3), [7, 4, 2]] = 2
    np.testing.assert_allclose(array(model({**inputs, "source": with_end})), expected, atol=1e-5)
    weights = model.attention_weights({**inputs, "source": with_end})
    assert array(weights["decoder/0/cross_attention"])[0, :, :, 7].max() == 0


def test_attention_weights_of_every_head_are_returned_by_name():
    weights = {name: array(each) for name, each in tiny_model().attention_weights(pairs()).items()}
    shapes = {"encoder/{}/self": (7, 7), "decoder/{}/self": (6, 6), "decoder/{}/cross": (6, 7)}
    assert {name: heads.shape for name, heads in weights.items()} == {
        f"{name.format(i)}_attention": (3, 2, *shape)
        for name, shape in shapes.items()
        for i in range(2)
    }
    for heads in weights.values():
        np.testing.assert_allclose(heads.sum(-1), 1, atol=1e-5)
    assert (weights["decoder/1/cross_attention"][2, :, :, 2:] == 0).all(), "padding in the source"


@pytest.mark.jax
def test_mixed_precision_keeps_weights_and_logits_in_float32():
    model, inputs = tiny_model(), pairs()
    mixed = Transformer(model.config, dtype="mixed_bfloat16")
    mixed.set_weights(model.get_weights())
    logits, exact = mixed(inputs), array(model(inputs))
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert {weight.dtype for weight in mixed.weights} == {"float32"}
    encoded = mixed.encode(ops.array(inputs["source"]))
    assert keras.backend.standardize_dtype(encoded.dtype) == "bfloat16"
    assert 0 < np.abs(array(logits) - exact).max() < 0.05 * np.abs(exact).max()
    memory, cache = mixed.start_decoding(ops.array(inputs["source"]), max_length=1)
    stepped, _ = mixed.decode_step(ops.array(inputs["target"][:, 0]), 0, cache, memory)
    assert keras.backend.standardize_dtype(stepped.dtype) == "float32"
    np.testing.assert_allclose(array(stepped), array(logits)[:, 0], atol=0.05)


@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.jax), "mixed_bfloat16"]
)
def test_a_sentence_of_padding_has_finite_logits_and_gradients(dtype):
    model, inputs = tiny_model(dtype=dtype, num_layers=1), pairs()
    for tokens in inputs.values():
        tokens[1] = 0
    inputs, loss = tensors(inputs), LabelSmoothedCrossEntropy()
    assert np.isfinite(array(model(inputs))).all()
    for gradient in gradients(model, lambda: loss(inputs["target"], model(inputs))):
        assert np.isfinite(gradient).all()
    memory, cache = model.start_decoding(inputs["source"], max_length=2)
    logits, _ = model.decode_step(inputs["target"][:, 0], 0, cache, memory)
    assert np.isfinite(array(logits)).all()


def test_dropout_acts_where_the_paper_applies_it():
    """On both sums of embeddings and positions, and on every sub-layer's output (§5.4)."""
    model = tiny_model(dropout=0.3, attention_dropout=0.2)
    tokens = ops.array(ids(2, 5))
    for embed in (model.embed_source, model.embed_target):
        full, with_dropout = array(embed(tokens)), array(embed(tokens, training=True))
        dropped = with_dropout == 0
        assert 0.1 < dropped.mean() < 0.5
        np.testing.assert_allclose(with_dropout[~dropped], full[~dropped] / 0.7, rtol=1e-5)
    for stack in (model.encoder, model.decoder):
        for block in stack.blocks:
            assert block.self_attention.dropout.rate == block.feed_forward.dropout.rate == 0.3
            assert block.self_attention.sublayer.dropout.rate == 0.2
    assert model.decoder.blocks[1].cross_attention.dropout.rate == 0.3


@pytest.mark.jax
def test_fit_trains_with_dropout_and_evaluates_without():
    model, inputs, loss = (
        tiny_model(dropout=0.5, num_layers=1),
        pairs(),
        LabelSmoothedCrossEntropy(),
    )
    eager = keras.backend.backend() == "tensorflow"  # tracing takes longer than the training
    model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=eager)
    without_dropout = float(loss(inputs["target"], model(inputs)))
    training_loss = model.fit(inputs, inputs["target"], verbose=0).history["loss"][0]
    evaluation_loss = model.evaluate(inputs, inputs["target"], verbose=0)
    assert abs(training_loss - without_dropout) > 1e-3
    assert evaluation_loss == pytest.approx(without_dropout, rel=1e-5)


def test_the_model_has_a_checked_and_resolved_copy_of_its_config():
    config = TransformerConfig(**TINY)
    assert (Transformer(config).config.d_k, config.d_k) == (8, None)
    config.dropout = 2
    with pytest.raises(ValueError, match="`dropout`"):
        Transformer(config)
    with pytest.raises(ValueError, match="`config` must be a TransformerConfig"):
        Transformer(dataclasses.asdict(TransformerConfig(**TINY)))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"source": ids(2, 3)}, r"Received: \['source'\]"),
        (ids(2, 3), "{'source': ids .*, 'target': ids .*}. Received: "),
        ({"source": ids(2, 3)[0], "target": ids(2, 3)}, "'source' of dtype int32, rank 1, shape"),
        ({"source": ids(2, 3), "target": ids(2, 3) / 1.0}, "must be integers .*'target' of dtype"),
        ({"source": ids(1, 3), "target": ids(3, 3)}, "same number of rows. Received: 1 and 3"),
    ],
)
def test_wrong_inputs_are_refused(inputs, message):
    with pytest.raises(ValueError, match=message):
        tiny_model(num_layers=1)(inputs)


def test_a_sequence_longer_than_learned_positions_is_refused():
    model = tiny_model(positions="learned", max_length=6, num_layers=1)
    with pytest.raises(ValueError, match=r"Received: 7 positions. Shorten the sequence"):
        model(pairs())
    with pytest.raises(ValueError, match="Received: 9 positions"):
        model.start_decoding(ops.array(ids(1, 3)), max_length=9)
