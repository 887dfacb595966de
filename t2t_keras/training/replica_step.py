"""THE training step on TensorFlow: loss and gradients of one replica, then one update (§5).

Keras' `fit` uses it, and so does our trainer. It differs from Keras' own step in four ways.

- The loss is summed, and divided once by the real tokens of the whole batch: over replicas, and
  over the parts into which a replica's rows are cut when they are more than its memory holds.
- XLA compiles forward and backward pass of one replica; the exchange between replicas and the
  update stay outside, which is what works under a strategy.
- Dropout's randomness is a function of (the layer's seed, step, replica, part), and not of how
  often something was drawn before: resumed runs repeat it, and no two replicas share it.
- The reported loss is the mean over tokens, not the mean of the batches' means.
"""

from types import SimpleNamespace

import keras
import tensorflow as tf
from absl import logging

from t2t_keras.checks import check, check_integer
from t2t_keras.losses import LabelSmoothedCrossEntropy, token_weights
from t2t_keras.metrics import Perplexity, TokenAccuracy, right_tokens
from t2t_keras.transformer import Transformer


@keras.saving.register_keras_serializable("t2t_keras", name="Transformer")
class TrainableTransformer(Transformer):
    """`Transformer` with the training step above; everything else is the same."""

    def compile(
        self, *args, jit_compile="auto", accumulate=1, clip_norm=None, by_products=False, **kwargs
    ):
        """Keras' `compile`, with a word more.

        Args:
            jit_compile: whether XLA compiles the step: True, False, or "auto", which is True
                where there is a GPU or TPU.
            accumulate: into how many parts a replica's rows are cut, one after another, so that
                a large batch fits into a small memory. The result is that of the whole batch.
            clip_norm: gradients are scaled down to this norm, that of all together and of the
                whole batch. None: never.
            by_products: report perplexity, which costs nothing beside the loss, and in
                evaluations token accuracy.
        """
        check_integer("accumulate", accumulate)
        check(
            jit_compile in ("auto", True, False),
            "jit_compile",
            jit_compile,
            "True, False or 'auto'",
        )
        self.xla = choose_xla(jit_compile)
        self.accumulate = accumulate
        self.clip_norm = clip_norm
        self.forward_backward = None
        # Keras would compile around the strategy, which does not work (see above).
        super().compile(*args, jit_compile=False, **kwargs)
        with self.distribute_strategy.scope():
            # In a namespace, because Keras lets no attribute of a built model be a metric.
            self.by_products = SimpleNamespace(metrics=[])
            if by_products:
                self.by_products.metrics = [Perplexity(), TokenAccuracy()]
            self.build_metrics()

    @property
    def metrics(self):
        by_products = getattr(self, "by_products", SimpleNamespace(metrics=[]))
        return [*super().metrics, *by_products.metrics]

    def build_metrics(self):
        """Makes the metrics' variables, as Keras would do later, under a strategy with floats."""
        ids = tf.ones([1, 1], tf.int32)
        logits = tf.zeros([1, 1, self.config.vocab_size])
        with keras.StatelessScope():
            self.compute_metrics({"source": ids, "target": ids}, ids, logits)
            self.compute_loss({"source": ids, "target": ids}, ids, logits)

    def train_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not isinstance(self.loss, LabelSmoothedCrossEntropy):
            return super().train_step(data)  # somebody's own loss says itself what it sums
        tokens = over_replicas([tf.reduce_sum(token_weights(labels, weights))])[0]
        scale = tf.math.reciprocal_no_nan(tokens)
        sums, gradients, logits = self.replica_step(inputs, labels, weights, scale)
        self.apply(gradients)
        self.update_metrics(over_replicas(sums))
        results = self.compute_metrics(inputs, labels, logits, weights)
        if self.by_products.metrics:  # the accuracy is left to evaluations
            del results["token_accuracy"]
        return results

    def test_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not isinstance(self.loss, LabelSmoothedCrossEntropy):
            return super().test_step(data)
        logits = self(inputs, training=False)
        sums = list(self.loss.sums(labels, logits, weights))
        if self.by_products.metrics:
            counted = token_weights(labels, weights)
            sums.append(tf.reduce_sum(tf.where(right_tokens(labels, logits), counted, 0.0)))
        self.update_metrics(over_replicas(sums))
        return self.compute_metrics(inputs, labels, logits, weights)

    def update_metrics(self, sums):
        """Loss and by-products of the whole batch; the same on every replica."""
        loss, plain, tokens, *right = sums
        mean = next(metric for metric in self.metrics if metric.name == "loss")
        mean.update_state(tf.math.divide_no_nan(loss, tokens), sample_weight=tokens)
        for metric, total in zip(self.by_products.metrics, [plain, *right], strict=False):
            metric.update_with_mean(tf.math.divide_no_nan(total, tokens), tokens)

    def replica_step(self, inputs, labels, weights, scale):
        """Sums of losses and tokens over this replica's rows, gradients, logits.

        The gradients are those of the loss times `scale`, one over the real tokens of the whole
        batch. Scaling the loss costs nothing; scaling the gradients, a walk through all of them.
        """
        if self.forward_backward is None:
            self.forward_backward = self.make_forward_backward()
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        first = tf.cast(replica, tf.int64) * self.accumulate
        results = None
        for number in range(self.accumulate):
            data = part((inputs, labels, weights), number, self.accumulate)
            new = self.forward_backward(*data, first + number, scale)
            results = new if results is None else together(results, new)
        return results

    def make_forward_backward(self):
        """Forward and backward pass as one graph, compiled by XLA if that is wanted."""
        seeds = [v for v in self.non_trainable_variables if v.name == "seed_generator_state"]
        weights = self.trainable_variables

        def forward_backward(inputs, labels, sample_weight, place, scale):
            step = tf.cast(tf.convert_to_tensor(self.optimizer.iterations), tf.int64)
            # There are fewer than a million replicas and parts.
            number = step * 2**20 + place
            drawn = [(seed, tf.stack([seed.value[0], number])) for seed in seeds]
            with tf.GradientTape() as tape:
                with keras.StatelessScope(state_mapping=drawn):
                    logits = self(inputs, training=True)
                sums = self.loss.sums(labels, logits, sample_weight)
                loss = sums[0] * scale
            gradients = tape.gradient(loss, [weight.value for weight in weights])
            return sums, [tf.convert_to_tensor(g) for g in gradients], logits

        return tf.function(forward_backward, jit_compile=self.xla or None, autograph=False)

    def apply(self, gradients):
        """Updates the weights."""
        if self.clip_norm is not None:
            norm = tf.linalg.global_norm(over_replicas(gradients))
            scale = tf.minimum(1.0, self.clip_norm / tf.maximum(norm, 1e-12))
            gradients = [gradient * tf.cast(scale, gradient.dtype) for gradient in gradients]
        # The optimizer sums over the replicas.
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))


def over_replicas(tensors):
    """The sums over all replicas, given to each of them."""
    replica = tf.distribute.get_replica_context()
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, list(tensors))


def choose_xla(wanted):
    """Whether to compile with XLA; says once why."""
    if wanted != "auto":
        return wanted
    accelerators = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("TPU")
    reason = "an accelerator is there" if accelerators else "on CPUs plain graphs are faster"
    logging.log_first_n(logging.INFO, "XLA is %s: %s", 1, "on" if accelerators else "off", reason)
    return bool(accelerators)


def part(data, number, parts):
    """One of `parts` equal shares of the rows."""

    def share(x):
        if x is None or parts == 1:
            return x
        rows = -(-tf.shape(x)[0] // parts)
        return x[number * rows : (number + 1) * rows]

    return keras.tree.map_structure(share, data)


def together(results, new):
    (sums, gradients, logits), (new_sums, new_gradients, new_logits) = results, new
    return (
        [a + b for a, b in zip(sums, new_sums, strict=True)],
        [a + b for a, b in zip(gradients, new_gradients, strict=True)],
        tf.concat([logits, new_logits], axis=0),
    )
