"""The loss in chunks equals the loss of all logits, and so do its gradients."""

import functools

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, compiled, gradients, ids, pairs, tiny_model, vectors

from t2t_keras import LabelSmoothedCrossEntropy, Perplexity, TokenAccuracy, cross_entropy
from t2t_keras.cross_entropy import Unprojected
from t2t_keras.layers.shared_embedding import SharedEmbedding

LABELS = ids(3, 5, [5, 3, 0])
SENTENCE_WEIGHTS = np.array([1.0, 0.5, 2.0], "float32")


class Projected(keras.layers.Layer):
    """Trainable vectors and their projection."""

    def __init__(self, output_bias, dtype="float32"):
        super().__init__()
        self.vectors = self.add_weight(shape=(3, 5, 8), dtype=dtype)
        self.vectors.assign(vectors(3, 5, 8))
        self.embedding = SharedEmbedding(50, 8, output_bias=output_bias)
        self.embedding.build()
        for seed, weight in enumerate(self.embedding.weights):
            weight.assign(vectors(*weight.shape, seed=seed))

    def sums(self, smoothing, sample_weight, chunked):
        outputs = Unprojected(ops.reshape(self.vectors, (3, 5, 8)), self.embedding, training=True)
        if not chunked:
            outputs = outputs.logits()
        loss = LabelSmoothedCrossEntropy(smoothing)
        return loss.sums(outputs, ops.array(LABELS), sample_weight, count_right=True)


@pytest.mark.parametrize(
    ("tokens_per_chunk", "smoothing", "output_bias", "sample_weight", "dtype", "tolerance"),
    [
        (100, 0.0, False, None, "float32", 1e-5),
        (1, 0.1, True, None, "float32", 1e-5),
        pytest.param(4, 0.1, True, SENTENCE_WEIGHTS, "float32", 1e-5, marks=pytest.mark.jax),
        (4, 0.2, True, None, "bfloat16", 1e-2),  # only the vectors' gradients have this dtype
    ],
    ids=["one chunk", "a chunk for each token", "weighted", "bfloat16"],
)
def test_sums_and_gradients_are_those_of_all_logits(
    monkeypatch, tokens_per_chunk, smoothing, output_bias, sample_weight, dtype, tolerance
):
    monkeypatch.setattr(cross_entropy, "MOST_LOGITS", 50 * tokens_per_chunk)
    layer = Projected(output_bias, dtype)
    expected, sums = (layer.sums(smoothing, sample_weight, chunked) for chunked in (False, True))
    np.testing.assert_allclose([float(s) for s in sums], [float(s) for s in expected], rtol=1e-5)

    def loss(chunked):
        return layer.sums(smoothing, sample_weight, chunked)[0] * 0.3

    expected = gradients(layer, functools.partial(loss, chunked=False))
    results = gradients(layer, functools.partial(loss, chunked=True))
    assert len(results) == 2 + output_bias
    for ours, theirs in zip(results, expected, strict=True):
        ours, theirs = ours.astype("float32"), theirs.astype("float32")
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())
        tolerance = 1e-5  # of matrix and bias


def test_evaluations_have_the_same_sums_in_a_compiled_function(monkeypatch):
    monkeypatch.setattr(cross_entropy, "MOST_LOGITS", 50 * 4)
    layer = Projected(output_bias=True)
    expected = layer.sums(0.1, None, chunked=False)
    labels = ops.array(LABELS)

    def sums(x):
        outputs = Unprojected(x, layer.embedding)
        return tuple(LabelSmoothedCrossEntropy(0.1).sums(outputs, labels, count_right=True))

    results = compiled(sums)(ops.convert_to_tensor(layer.vectors))
    np.testing.assert_allclose([float(r) for r in results], [float(e) for e in expected], rtol=1e-5)


def test_large_logits_do_not_overflow():
    embedding = SharedEmbedding(4, 1)
    embedding.build()
    embedding.matrix.assign([[1.0], [-1.0], [0.0], [0.0]])
    outputs = Unprojected(ops.array([[[1e4]]]), embedding)
    sums = LabelSmoothedCrossEntropy(0.0).sums(outputs, ops.array([[1]]))
    assert float(sums.loss) == pytest.approx(2e4)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="reads TensorFlow's graph")
def test_no_array_of_all_logits_is_created_and_the_matrix_is_transposed_once(monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(cross_entropy, "MOST_LOGITS", 4 * 50)
    layer = Projected(output_bias=False)

    def gradients_of_chunks():
        with tf.GradientTape() as tape:
            total = layer.sums(0.1, None, chunked=True)[0]
        return tape.gradient(total, [weight.value for weight in layer.trainable_weights])

    graph = tf.function(gradients_of_chunks, autograph=False).get_concrete_function().graph
    graph = graph.as_graph_def(add_shapes=True)
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    shapes = [
        {tuple(dim.size for dim in shape.dim) for shape in node.attr["_output_shapes"].list.shape}
        for node in nodes
    ]
    assert (4, 50) in set().union(*shapes)
    assert not set().union(*shapes) & {(3, 5, 50), (15, 50), (16, 50)}
    # TensorFlow would fold a `Transpose` into the product of every chunk. The loop hands on the
    # result of the einsum.
    transposed = [node.op for node, found in zip(nodes, shapes, strict=True) if (8, 50) in found]
    assert sorted(transposed) == ["Einsum", "StatelessWhile"]
    assert not any(node.attr["transpose_b"].b for node in nodes)


@pytest.mark.long
def test_fit_and_evaluate_give_the_same_results_if_a_metric_reads_logits(monkeypatch):
    monkeypatch.setattr(cross_entropy, "MOST_LOGITS", 5 * 50)
    inputs, labels = pairs(), pairs()["target"]

    def results(*more):
        keras.utils.set_random_seed(0)
        model = tiny_model(dropout=0.0, num_layers=1, tie_output=False, output_bias=True)
        metrics = [TokenAccuracy(), Perplexity(), *more]
        model.compile(
            *(keras.optimizers.SGD(0.1), LabelSmoothedCrossEntropy()),
            metrics=metrics,
            run_eagerly=True,
        )
        history = model.fit(inputs, labels, verbose=0).history
        return history, model.evaluate(inputs, labels, verbose=0, return_dict=True), model

    reads_logits = keras.metrics.SparseCategoricalAccuracy()
    (expected, expected_loss, plain), (history, loss, model) = results(reads_logits), results()
    for name, values in history.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(loss[name], expected_loss[name], rtol=1e-5, err_msg=name)
    for ours, theirs in zip(model.weights, plain.weights, strict=True):
        np.testing.assert_allclose(array(ours), array(theirs), atol=1e-6)
