"""The training step yields the same weights however a batch is spread over replicas and parts."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.models.eager_steps import without_graphs

from t2t_keras import LabelSmoothedCrossEntropy, Perplexity, TokenAccuracy, Transformer
from t2t_keras.training.adam import Adam
from t2t_keras.training.checkpoints import restore, state_of
from t2t_keras.transformer_config import TransformerConfig

STEPS = 3
SPREADS = [pytest.param("replicas", marks=pytest.mark.long), "parts"]


def batch(rows=16):
    """Returns rows of unequal length, so that halves and quarters differ in their tokens."""
    source, labels = np.random.default_rng(0).integers(3, 50, (2, rows, 9)).astype("int32")
    for row in range(rows):
        source[row, 3 + row % 6 :] = 0
        labels[row, 1 + row // 2 :] = 0
    return {"source": source, "target": np.insert(labels[:, :-1], 0, 1, axis=1)}, labels


def new_model(dropout=0.0, model_class=Transformer, **options):
    keras.utils.set_random_seed(1)
    config = TransformerConfig(
        vocab_size=50, num_layers=1, d_model=16, d_ff=32, num_heads=2, dropout=dropout
    )
    return model_class(config, **options)


def fused_adam():
    return Adam(1e-3, 0.9, 0.98, 1e-9)


@functools.cache
def compiled_model(
    strategy, dropout, optimizer, loss=LabelSmoothedCrossEntropy, model_class=Transformer, **options
):
    """Returns a model and its initial state; each model is compiled and traced once."""
    with strategy.scope():
        model = new_model(dropout, model_class)
        metrics = [Perplexity(), TokenAccuracy(name="accuracy")]
        model.compile(optimizer(), loss(0.1), metrics=metrics, **options)
        model.optimizer.build(model.trainable_variables)
    return model, state_of(model)


def trained(strategy=None, dropout=0.0, optimizer=fused_adam, data=None, **options):
    """Returns the weights after three steps, and the means of the reported metrics."""
    model, initial_state = compiled_model(
        strategy or tf.distribute.get_strategy(), dropout, optimizer, **options
    )
    restore(model, initial_state)
    data = data or batch()
    if strategy is None:
        model.reset_metrics()
        with without_graphs():
            for _ in range(STEPS):
                results = model.train_step(data)
    else:
        batches = tf.data.Dataset.from_tensors(data).repeat(STEPS)
        options = {"steps_per_epoch": STEPS, "verbose": 0, "shuffle": False}
        results = {name: value for name, (value,) in model.fit(batches, **options).history.items()}
    weights = [weight.numpy() for weight in model.trainable_variables]
    return weights, {name: float(value) for name, value in results.items()}


def assert_close(result, expected, tolerance=1e-5):
    for ours, theirs in zip(result[0], expected[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)
    for name in ("loss", "perplexity"):
        np.testing.assert_allclose(result[1][name], expected[1][name], rtol=tolerance)


@pytest.fixture(scope="module")
def expected():
    """The result of the plain step: one replica, the whole batch at once."""
    return trained()


@pytest.mark.long
def test_two_replicas_with_unequal_tokens_equal_one(expected, replicas):
    first, second = np.split(batch()[1], 2)
    assert (first > 0).sum() != (second > 0).sum()
    assert_close(trained(replicas, jit_compile=True, accumulate=2), expected)


@pytest.mark.long
def test_r_drop_changes_the_loss_only_with_dropout(expected):
    """Without dropout, both passes are the same, so their divergence is 0."""
    regularized, plain = (trained(dropout=0.3, r_drop=alpha)[1]["loss"] for alpha in (5.0, 0.0))
    assert plain + 0.01 < regularized < 10 * plain
    weights, history = trained(accumulate=2, r_drop=5.0)
    assert_close((weights, history), expected)
    assert history["accuracy"] == pytest.approx(expected[1]["accuracy"])


def trained_by_plain_loop(optimizer):
    """Returns the weights after three eager steps on the mean loss."""
    model, (inputs, labels) = new_model(), batch()
    loss = LabelSmoothedCrossEntropy(0.1)
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))
    return [weight.numpy() for weight in weights]


def test_the_weights_are_those_of_a_plain_loop_for_the_whole_batch_and_for_its_parts(expected):
    adam = keras.optimizers.Adam(1e-3, 0.9, 0.98, 1e-9)
    for ours, theirs in zip(expected[0], trained_by_plain_loop(adam), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert_close(trained(accumulate=4), expected)


@pytest.mark.long
def test_gradients_are_clipped_by_the_norm_of_the_whole_batch(replicas):
    """With plain gradient descent, because Adam's updates hardly depend on the norm."""
    options = {"accumulate": 2, "clip_norm": 0.05}
    weights, _ = trained(replicas, optimizer=keras.optimizers.SGD, **options)
    clipped_by_keras = trained_by_plain_loop(keras.optimizers.SGD(global_clipnorm=0.05))
    for ours, theirs in zip(weights, clipped_by_keras, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.long
def test_replicas_exchange_every_gradient_once(replicas):
    """Each replica sends the tokens, the five sums of the loss, and the gradients."""
    options = {"accumulate": 2, "clip_norm": 0.05}
    model, _ = compiled_model(replicas, 0.0, keras.optimizers.SGD, **options)
    step = tf.function(lambda data: replicas.run(model.train_step, args=(data,)), autograph=False)
    graph = step.get_concrete_function(batch()).graph
    sent = [op.inputs[0] for op in graph.get_operations() if op.type.startswith("CollectiveReduce")]
    weights = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
    assert sorted(int(np.prod(each.shape)) for each in sent) == sorted([1, 5, weights] * 2)
    # Later updates by a step of one's own are summed by Keras again.
    assert "_all_reduce_sum_gradients" not in vars(model.optimizer)


@pytest.mark.long
def test_evaluation_metrics_are_means_over_all_tokens_of_all_replicas(replicas):
    """A mean of the batches' means would weigh a short batch like a long one."""
    inputs, labels = batch()
    short = np.where(np.arange(9) < 1, labels, 0)
    with replicas.scope():
        model = new_model()
        model.compile(loss=LabelSmoothedCrossEntropy(0.1), metrics=[Perplexity(), TokenAccuracy()])
    logits = model(inputs)
    sums = [model.loss.sums(logits, y) for y in (labels, short)]
    total, count = (sum(each[i] for each in sums) for i in (0, 1))
    expected = {"loss": float(total / count)}
    for metric in (TokenAccuracy(), Perplexity()):
        for y in (labels, short):
            metric.update_state(y, logits)
        expected[metric.name] = float(metric.result())
    assert expected["token_accuracy"] > 0
    both = [np.concatenate(arrays) for arrays in ((inputs["source"],) * 2, (inputs["target"],) * 2)]
    data = {"source": both[0], "target": both[1]}, np.concatenate([labels, short])
    batches = tf.data.Dataset.from_tensor_slices(data).batch(len(labels))
    results = model.evaluate(batches, verbose=0, return_dict=True)
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-5, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("spread", SPREADS)
def test_dropout_differs_by_replica_and_by_part_and_repeats_itself(request, spread):
    """Both halves have equal rows. With equal masks, their loss would be that of one half."""
    options = {"accumulate": 2}
    if spread == "replicas":
        options = {"strategy": request.getfixturevalue("replicas")}
    half = batch(8)
    twice = keras.tree.map_structure(lambda x: np.concatenate([x, x]), half)
    padded = keras.tree.map_structure(lambda x: np.concatenate([x, 0 * x]), half)
    weights, history = trained(data=twice, dropout=0.3, **options)
    _, history_of_half = trained(data=padded, dropout=0.3, **options)
    assert abs(history["loss"] - history_of_half["loss"]) > 1e-3
    again, _ = trained(data=twice, dropout=0.3, **options)
    for ours, theirs in zip(again, weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


class SumOfSentences(LabelSmoothedCrossEntropy):
    """Counts sentences instead of tokens."""

    def weights_and_count(self, labels, sample_weight=None):
        weights, _ = super().weights_and_count(labels, sample_weight)
        return weights, tf.reduce_sum(tf.cast(tf.reduce_any(labels > 0, axis=1), tf.float32))


class WithUnusedLayer(Transformer):
    def build_layers(self):
        super().build_layers()
        self.unused = keras.layers.Dense(3)
        self.unused.build((None, 4))


@pytest.mark.long
@pytest.mark.parametrize("spread", SPREADS)
def test_a_loss_of_ones_own_and_a_weight_without_a_gradient_are_trained(request, spread):
    """Plain gradient descent on a loss that is larger by tokens per sentence."""
    options = {"accumulate": 2}
    if spread == "replicas":
        options = {"strategy": request.getfixturevalue("replicas"), "clip_norm": 1e6}
    labels = batch()[1]
    ratio = (labels > 0).sum() / len(labels)
    by_tokens = trained(optimizer=functools.partial(keras.optimizers.SGD, 1e-2))
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables .*unused"):
        weights, history = trained(
            optimizer=functools.partial(keras.optimizers.SGD, 1e-2 / ratio),
            loss=SumOfSentences,
            model_class=WithUnusedLayer,
            **options,
        )
    assert len(weights) == len(by_tokens[0]) + 2 and not weights[-1].any()
    assert history["loss"] == pytest.approx(ratio * by_tokens[1]["loss"], rel=1e-5)
    assert_close((weights[:-2], history | {"loss": by_tokens[1]["loss"]}), by_tokens)


def test_a_strategy_divides_the_loss_by_its_replicas_as_it_does_with_losses_of_keras(replicas):
    labels = np.array([[1, 2]])
    logits = np.zeros((1, 2, 8), "float32")
    of_keras = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for loss in (LabelSmoothedCrossEntropy(), of_keras):
        alone = float(loss(labels, logits))
        with replicas.scope():
            assert float(loss(labels, logits)) == pytest.approx(alone / 2)


def test_an_accuracy_may_be_left_to_evaluations():
    model = new_model()
    metrics = [TokenAccuracy(name="always"), TokenAccuracy(in_training=False)]
    options = {"metrics": metrics, "run_eagerly": True}
    model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(), **options)
    with without_graphs():
        results = model.train_step(batch())
        model.reset_metrics()
        expected = model.test_step(batch())
    assert sorted(results) == ["always", "loss"]
    assert float(results["always"]) == pytest.approx(float(expected["token_accuracy"]))


def test_options_without_effect_on_other_losses_are_refused():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    for options in ({"accumulate": 2}, {"clip_norm": 1.0}, {"r_drop": 1.0}):
        model = new_model()
        model.compile("adam", loss, run_eagerly=True, **options)
        with pytest.raises(ValueError, match="have an effect only on TensorFlow"):
            model.train_step(batch())


@pytest.mark.parametrize(
    ("dtype", "optimizer"),
    [
        ("mixed_float16", keras.optimizers.SGD(1.0)),
        ("float32", keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))),
        ("float32", keras.optimizers.SGD(1.0, loss_scale_factor=2**15)),
    ],
    ids=["mixed_float16", "LossScaleOptimizer", "loss_scale_factor"],
)
def test_a_scaled_loss_is_refused_in_training_only(dtype, optimizer):
    """Keras would divide the gradients by a scale that this step never applies."""
    model = new_model(dtype=dtype)
    model.compile(optimizer, LabelSmoothedCrossEntropy(), run_eagerly=True)
    with pytest.raises(ValueError, match=r"does not scale the loss.*'mixed_bfloat16'.*Received"):
        model.train_step(batch())
    assert np.isfinite(float(model.test_step(batch())["loss"]))
