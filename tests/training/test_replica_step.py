"""The training step is the same whatever it is spread over."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from t2t_keras import LabelSmoothedCrossEntropy, Perplexity, TokenAccuracy, Transformer
from t2t_keras.training.adam import Adam
from t2t_keras.transformer_config import TransformerConfig

STEPS = 3


def batch(rows=16, seed=0):
    """Rows of unequal length, so that halves and quarters hold unequal numbers of tokens."""
    random = np.random.default_rng(seed)
    source, labels = random.integers(3, 50, (2, rows, 9)).astype("int32")
    for row in range(rows):
        source[row, 3 + row % 6 :] = 0
        labels[row, 1 + row // 2 :] = 0
    target = np.insert(labels[:, :-1], 0, 1, axis=1)
    return {"source": source, "target": target}, labels


def trained(strategy=None, dropout=0.0, optimizer=Adam, metrics=(), data=None, **options):
    """Weights after three steps of `fit`, and what it reported."""
    keras.utils.set_random_seed(1)
    strategy = strategy or tf.distribute.get_strategy()
    config = TransformerConfig(
        vocab_size=50, num_layers=2, d_model=32, d_ff=64, num_heads=4, dropout=dropout
    )
    with strategy.scope():
        model = Transformer(config)
        loss = LabelSmoothedCrossEntropy(0.1)
        adam = optimizer(1e-3, 0.9, 0.98, 1e-9)
        model.compile(adam, loss, metrics=list(metrics), by_products=True, **options)
    batches = tf.data.Dataset.from_tensors(data or batch()).repeat(STEPS)
    reported = model.fit(batches, steps_per_epoch=STEPS, verbose=0, shuffle=False).history
    return [v.numpy() for v in model.trainable_variables], reported


def assert_close(found, expected, tolerance=1e-5):
    for ours, theirs in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)
    for name in ("loss", "perplexity"):
        np.testing.assert_allclose(found[1][name], expected[1][name], rtol=tolerance)


@pytest.fixture(scope="module")
def expected():
    return trained()


def test_two_replicas_with_unequal_tokens_are_one(expected, replicas):
    halves = np.split(batch()[1], 2)
    assert (halves[0] > 0).sum() != (halves[1] > 0).sum()
    assert_close(trained(replicas), expected)


def test_two_compiled_replicas_are_one(expected, replicas):
    assert_close(trained(replicas, jit_compile=True), expected)


@pytest.mark.parametrize("parts", [2, 4])
def test_accumulated_parts_are_the_whole(expected, parts):
    assert_close(trained(accumulate=parts), expected)


def test_parts_of_replicas_are_the_whole(expected, replicas):
    assert_close(trained(replicas, accumulate=2), expected)


def test_xla_changes_nothing(expected):
    assert_close(trained(jit_compile=True), expected, tolerance=1e-4)


def test_the_fused_adam_is_adam(expected):
    assert_close(trained(optimizer=keras.optimizers.Adam), expected)


def test_the_step_is_what_the_formula_says(expected):
    """Keras' own step gives the same weights, for one replica and a loss that is a mean."""
    keras.utils.set_random_seed(1)
    config = TransformerConfig(vocab_size=50, num_layers=2, d_model=32, d_ff=64, num_heads=4)
    config.dropout = 0.0
    model = Transformer(config)
    loss, adam = LabelSmoothedCrossEntropy(0.1), keras.optimizers.Adam(1e-3, 0.9, 0.98, 1e-9)
    inputs, labels = batch()
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True))
        weights = model.trainable_variables
        adam.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))
    for ours, theirs in zip(expected[0], weights, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)


def test_clipping_is_by_the_norm_of_the_whole_batch(replicas):
    clipped = trained(clip_norm=0.05)

    def keras_way(*settings):
        return keras.optimizers.Adam(*settings, global_clipnorm=0.05)

    assert_close(trained(optimizer=keras_way), clipped)
    assert_close(trained(replicas, clip_norm=0.05), clipped)
    assert_close(trained(clip_norm=0.05, accumulate=4), clipped)


def test_the_reported_loss_is_the_mean_over_tokens():
    """Not the mean of the batches' means, which weighs a short batch like a long one."""
    inputs, labels = batch()
    short = np.where(np.arange(9) < 1, labels, 0)
    model = Transformer(TransformerConfig(vocab_size=50, num_layers=1, d_model=8, num_heads=2))
    model.compile(loss=LabelSmoothedCrossEntropy(0.1))
    batches = tf.data.Dataset.from_tensors((inputs, labels)).concatenate(
        tf.data.Dataset.from_tensors((inputs, short))
    )
    sums = [model.loss.sum_and_count(y, model(inputs)) for y in (labels, short)]
    mean = sum(float(total) for total, _ in sums) / sum(float(count) for _, count in sums)
    np.testing.assert_allclose(model.evaluate(batches, verbose=0), mean)


def test_perplexity_is_a_by_product():
    _, reported = trained(metrics=[TokenAccuracy(name="accuracy"), Perplexity(name="asked_for")])
    np.testing.assert_allclose(reported["perplexity"], reported["asked_for"], rtol=1e-5)
    assert 0 <= reported["accuracy"][0] <= 1
    assert "token_accuracy" not in reported, "it is left to evaluations"


def test_evaluations_report_the_accuracy_of_all_replicas(replicas):
    inputs, labels = batch()
    config = TransformerConfig(vocab_size=50, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    with replicas.scope():
        model = Transformer(config)
        model.compile(loss=LabelSmoothedCrossEntropy(0.1), by_products=True)
    logits = model(inputs)
    expected = {}
    for metric in (TokenAccuracy(), Perplexity()):
        metric.update_state(labels, logits)
        expected[metric.name] = float(metric.result())
    assert expected["token_accuracy"] > 0
    batches = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(8)
    found = model.evaluate(batches, verbose=0, return_dict=True)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)


def test_dropout_differs_by_step_by_replica_and_by_part(replicas):
    """Equal rows in both halves: with equal masks, one half would do."""
    inputs, labels = batch(8)
    twice = tuple(
        keras.tree.map_structure(lambda x: np.concatenate([x, x]), part)
        for part in (inputs, labels)
    )
    half = trained(data=(inputs, labels), dropout=0.3)
    for spread in ({"strategy": replicas}, {"accumulate": 2}):
        whole = trained(data=twice, dropout=0.3, **spread)
        assert abs(whole[1]["loss"][0] - half[1]["loss"][0]) > 1e-3
        # The same once more: nothing is drawn from a state that moves on by itself.
        again = trained(data=twice, dropout=0.3, **spread)
        for ours, theirs in zip(whole[0], again[0], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_somebody_elses_loss_is_left_to_keras():
    config = TransformerConfig(vocab_size=50, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    model = Transformer(config)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=[TokenAccuracy()])
    inputs, labels = batch()
    history = model.fit(inputs, labels, epochs=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accumulate": 0}, "`accumulate` must be a whole number"),
        ({"jit_compile": "maybe"}, "`jit_compile` must be True, False or 'auto'"),
    ],
)
def test_wrong_options_are_named(options, message):
    model = Transformer(TransformerConfig(vocab_size=9, num_layers=1, d_model=8, num_heads=2))
    with pytest.raises(ValueError, match=message):
        model.compile("adam", LabelSmoothedCrossEntropy(), **options)
