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
    disturbed,
    gradients,
    ids,
    pairs,
    tensors,
    tiny_model,
)
from support.models.reference import forward

from t2t_keras import LabelSmoothedCrossEntropy, TokenAccuracy, Transformer, TransformerConfig
from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.training import TrainableTransformer


def test_logits_of_the_base_model_equal_an_independent_numpy_forward_pass():
    config = TransformerConfig(vocab_size=2000)  # only the number of pieces is smaller
    check_against_numpy(disturbed(Transformer(config), scale=0.01), config.vocab_size)


@pytest.mark.jax
@pytest.mark.parametrize(
    "settings",
    [
        {**OTHER_SYSTEMS, "num_layers": 3, "d_model": 64, "d_ff": 128, "num_heads": 4},
        {"activation": "gelu", "d_k": 4, "decoder_layers": 3},
        {"activation": "gelu_tanh", "positions": "hugging_face", "tie_output": False},
        {"activation": "gelu_sigmoid", "num_layers": 1, "decoder_layers": 2},
        {"positions": "learned", "position_offset": 2, "d_k": 12, "d_v": 5},
        {"attention": "unscaled", "num_layers": 1, "positions": "none"},
        {"attention": "additive", "d_k": 5, "num_layers": 1},
        {"residual": False, "pre_norm": True, "num_layers": 1},
        {"layer_norm": False, "pre_norm": True, "num_layers": 1},
        {"layer_norm": False, "residual": False, "num_layers": 1},
        {"source_vocab_size": 40, "attention_bias": True, "norm_epsilon": 0.1},
        {"neighbourhood": 4, "decoder_neighbourhood": 3},
        {"neighbourhood": 5, "pre_norm": True, "source_end": False},
        {"positions": "t5", "num_layers": 1},
        {"positions": "alibi", "num_heads": 6, "d_k": 3, "d_v": 2, "num_layers": 1},
        {"positions": "t5", "attention": "additive", "decoder_neighbourhood": 3, "num_layers": 1},
        {"positions": "alibi", "neighbourhood": 4, "num_layers": 1},
    ],
)
def test_logits_equal_the_numpy_forward_pass_with_every_setting(settings):
    check_against_numpy(tiny_model(**settings), vocab_size=40)


def check_against_numpy(model, vocab_size):
    inputs = {
        "source": ids(2, 12, [12, 7], vocab_size),
        "target": ids(2, 10, [10, 4], vocab_size, seed=1),
    }
    weights = {
        weight.path.split("/", 1)[1]: ops.convert_to_numpy(weight).astype("float64")
        for weight in model.weights
    }
    expected = forward(weights, model.config, **inputs)
    assert expected.std() > 0.1
    np.testing.assert_allclose(array(model(inputs)), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"pre_norm": True, "positions": "learned"}])
def test_later_tokens_do_not_change_earlier_logits(settings):
    model, inputs = tiny_model(**settings), pairs()
    before = array(model(inputs))
    for position in range(1, 6):
        changed = {**inputs, "target": inputs["target"].copy()}
        changed["target"][:, position] = 13
        after = array(model(changed))
        np.testing.assert_array_equal(after[:, :position], before[:, :position])
        assert not np.allclose(after[:, position], before[:, position])


def test_padding_is_ignored():
    model, inputs = tiny_model(), pairs()
    short = array(model(inputs))
    padded = {name: np.pad(value, ((0, 0), (0, 5))) for name, value in inputs.items()}
    np.testing.assert_allclose(array(model(padded))[:, :6], short, atol=1e-5)
    # A sentence without padding has the same logits alone as in the batch.
    alone = {"source": inputs["source"][1:2, :4], "target": inputs["target"][1:2]}
    np.testing.assert_allclose(array(model(alone))[0], short[1], atol=1e-5)


def test_logits_under_xla_are_the_same():
    model, inputs = tiny_model(num_layers=1), tensors(pairs())
    np.testing.assert_allclose(array(compiled(model)(inputs)), array(model(inputs)), atol=1e-5)


PLAIN_AND_ALL_OPTIONS = [
    {},
    {
        **OTHER_SYSTEMS,
        "positions": "learned",
        "attention": "additive",
        "neighbourhood": 3,
        "decoder_neighbourhood": 2,
    },
]


@pytest.mark.jax
@pytest.mark.parametrize("settings", PLAIN_AND_ALL_OPTIONS)
def test_gradients_reach_every_weight(settings):
    model, inputs = tiny_model(**settings), tensors(pairs(vocab_size=40))
    loss = LabelSmoothedCrossEntropy()
    labels = ops.array(pairs(seed=5)["target"])
    values = gradients(model, lambda: loss(labels, model(inputs)))
    for weight, gradient in zip(model.trainable_weights, values, strict=True):
        assert gradient is not None and np.any(gradient), weight.path


@pytest.mark.jax
@pytest.mark.parametrize("settings", PLAIN_AND_ALL_OPTIONS)
def test_keras_files_and_configs_restore_the_model(settings, tmp_path):
    model, inputs = tiny_model(**settings, num_layers=1), pairs(vocab_size=40)
    expected = array(model(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.config == model.config
    np.testing.assert_array_equal(array(loaded(inputs)), expected)
    model.save_weights(tmp_path / "model.weights.h5")
    twin = Transformer.from_config(model.get_config())
    twin.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(array(twin(inputs)), expected)


def test_a_model_that_ignores_the_end_of_the_source_computes_as_if_it_was_not_there():
    model, inputs = tiny_model(source_end=False), pairs()
    expected = array(model(inputs))
    with_end = np.pad(inputs["source"], [(0, 0), (0, 1)])
    with_end[np.arange(3), [7, 4, 2]] = 2
    np.testing.assert_allclose(array(model({**inputs, "source": with_end})), expected, atol=1e-5)
    weights = model.attention_weights({**inputs, "source": with_end})
    assert array(weights["decoder/0/cross_attention"])[0, :, :, 7].max() == 0
    reads_end = tiny_model()
    assert not np.allclose(array(reads_end({**inputs, "source": with_end})), expected, atol=1e-3)


def test_attention_weights_of_every_head_are_returned_by_name():
    model, inputs = tiny_model(), pairs()
    weights = model.attention_weights(inputs)
    assert list(weights) == [
        "encoder/0/self_attention",
        "encoder/1/self_attention",
        "decoder/0/self_attention",
        "decoder/0/cross_attention",
        "decoder/1/self_attention",
        "decoder/1/cross_attention",
    ]
    cross = array(weights["decoder/1/cross_attention"])
    assert cross.shape == (3, 2, 6, 7)
    np.testing.assert_allclose(cross.sum(-1), 1, atol=1e-5)
    assert (cross[2, :, :, 2:] == 0).all()  # padding in the source


@pytest.mark.jax
def test_mixed_precision_keeps_weights_and_logits_in_float32():
    model = tiny_model()
    mixed = Transformer(model.config, dtype="mixed_bfloat16")
    mixed.set_weights(model.get_weights())
    inputs = pairs()
    logits = mixed(inputs)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert {weight.dtype for weight in mixed.weights} == {"float32"}
    assert keras.backend.standardize_dtype(mixed.encode(ops.array(inputs["source"])).dtype) == (
        "bfloat16"
    )
    exact = array(model(inputs))
    assert 0 < np.abs(array(logits) - exact).max() < 0.05 * np.abs(exact).max()
    memory, cache = mixed.start_decoding(ops.array(inputs["source"]), max_length=1)
    stepped, _ = mixed.decode_step(ops.array(inputs["target"][:, 0]), 0, cache, memory)
    assert keras.backend.standardize_dtype(stepped.dtype) == "float32"
    np.testing.assert_allclose(array(stepped), array(logits)[:, 0], atol=0.05)


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_sentence_of_padding_has_finite_logits_and_gradients(dtype):
    model = tiny_model(dtype=dtype, num_layers=1)
    inputs = pairs()
    inputs["source"][1] = 0
    inputs["target"][1] = 0
    inputs = tensors(inputs)
    assert np.isfinite(array(model(inputs))).all()
    loss = LabelSmoothedCrossEntropy()
    for gradient in gradients(model, lambda: loss(inputs["target"], model(inputs))):
        assert np.isfinite(gradient).all()
    memory, cache = model.start_decoding(inputs["source"], max_length=2)
    logits, _ = model.decode_step(inputs["target"][:, 0], 0, cache, memory)
    assert np.isfinite(array(logits)).all()


def test_a_transformer_can_be_part_of_a_functional_model():
    transformer, inputs = tiny_model(num_layers=1), pairs()
    symbols = {name: keras.Input((None,), dtype="int32", name=name) for name in inputs}
    model = keras.Model(symbols, keras.layers.Softmax()(transformer(symbols)))
    expected = array(keras.ops.softmax(transformer(inputs)))
    np.testing.assert_allclose(model.predict(inputs, verbose=0), expected, atol=1e-5)


@pytest.mark.long
def test_compile_and_fit_train_a_model_to_copy():
    random = np.random.default_rng(0)
    source = random.integers(3, 20, (512, 6)).astype("int32")
    source[:, 5] = 2
    source[::2, 3:] = (2, 0, 0)  # every other sentence is shorter
    target = np.concatenate([np.ones((512, 1), "int32"), source[:, :-1]], axis=1)
    target[source == 0] = 0
    config = TransformerConfig(
        vocab_size=20, num_layers=1, d_model=32, d_ff=64, num_heads=4, dropout=0.0
    )
    model = Transformer(config)
    model.compile(
        optimizer=keras.optimizers.Adam(3e-3, beta_2=0.98, epsilon=1e-9),
        loss=LabelSmoothedCrossEntropy(),
        metrics=[TokenAccuracy()],
    )
    inputs = {"source": source, "target": target}
    model.fit(inputs, source, batch_size=32, epochs=14, verbose=0)
    assert model.evaluate(inputs, source, verbose=0, return_dict=True)["token_accuracy"] > 0.95
    assert model.predict(inputs, verbose=0).shape == (512, 6, 20)


def test_a_changed_setting_is_checked_when_the_model_is_created():
    config = TransformerConfig(**TINY)
    config.dropout = 2
    with pytest.raises(ValueError, match="`dropout`"):
        Transformer(config)
    with pytest.raises(ValueError, match="`config` must be a TransformerConfig"):
        Transformer(dataclasses.asdict(TransformerConfig(**TINY)))


def test_the_config_of_the_model_is_a_resolved_copy():
    config = TransformerConfig(**TINY)
    model = Transformer(config)
    assert (model.config.d_k, model.config.d_v) == (8, 8)
    assert config.d_k is None


@pytest.mark.long
def test_float64_is_searched_and_trained():
    """As Keras' default, it also makes indices of 64 bits."""
    model, source = tiny_model(num_layers=1, dropout=0.0), ops.array(pairs()["source"])
    keras.config.set_floatx("float64")
    try:
        twin = TrainableTransformer(model.config)
        twin.set_weights(model.get_weights())
        for beam in (1, 2):
            (tokens, scores), found = (
                search(each, source, 4, SearchConfig(beam=beam)) for each in (model, twin)
            )
            np.testing.assert_array_equal(array(found.tokens), array(tokens))
            np.testing.assert_allclose(array(found.scores), array(scores), rtol=1e-5)
        twin.compile("sgd", LabelSmoothedCrossEntropy(), run_eagerly=True)
        loss = twin.train_on_batch(pairs(), pairs()["target"])
    finally:
        keras.config.set_floatx("float32")
    expected = LabelSmoothedCrossEntropy()(pairs()["target"], model(tensors(pairs())))
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
