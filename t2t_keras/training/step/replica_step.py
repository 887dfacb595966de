"""The training step on TensorFlow: loss and gradients on each replica, then one update (§5).

Keras' `fit` and our trainer both use it. It differs from Keras' training step in five ways.

- The loss is summed, then divided once by the number of real tokens in the whole batch: over all
  replicas, and over all parts if a replica splits its rows to fit its memory.
- XLA compiles only the forward and backward pass of one replica, without the exchange between
  replicas and the update. This works under every strategy.
- Dropout's random numbers are a function of (the layer's seed, step, replica, part). A resumed run
  repeats them, and no two replicas share them.
- The reported loss is the mean over all tokens, not the mean of the batches' means.
- The logits are computed in chunks, unless a metric or R-Drop needs them.
"""

import contextlib

import keras
import tensorflow as tf

from t2t_keras.metrics import TokenAccuracy
from t2t_keras.token_loss import TokenSums
from t2t_keras.training.step.compile_and_metrics import (
    CompileAndMetrics,
    refuse_scaled_loss,
    refuse_unused_options,
)
from t2t_keras.training.step.compile_options import dropout_seeds
from t2t_keras.training.step.r_drop import r_drop_sums
from t2t_keras.training.step.token_sums import has_sums, outputs_without_logits


class TrainingStep(CompileAndMetrics):
    """The training step, for a `SequenceModel` that also derives from this class."""

    def quantize(self, *args, **kwargs):
        """Quantizes the layers, as Keras' models do. `fit` after it needs a new `compile`."""
        super().quantize(*args, **kwargs)
        self.forward_backward = None  # its graph has the variables that were replaced

    def train_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not has_sums(self):
            refuse_unused_options(self)
            return super().train_step(data)
        refuse_scaled_loss(self)
        labels = self.loss.padded(labels)
        _, count = self.loss.weights_and_count(labels, weights)
        scale = tf.math.reciprocal_no_nan(sum_over_replicas([tf.cast(count, tf.float32)])[0])
        sums, gradients, logits = self.replica_step(inputs, labels, weights, scale)
        total = TokenSums(*sum_over_replicas(sums))
        self.apply(gradients)
        results = self.updated_metrics(total, inputs, labels, logits, weights, training=True)
        for metric in self.by_products.metrics:
            if isinstance(metric, TokenAccuracy):
                del results[metric.name]
        return results

    def test_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not has_sums(self):
            return super().test_step(data)
        labels = self.loss.padded(labels)
        sums, logits = self.sums_and_logits(inputs, labels, weights, training=False)
        total = TokenSums(*sum_over_replicas(sums))
        return self.updated_metrics(total, inputs, labels, logits, weights, training=False)

    def sums_and_logits(self, inputs, labels, weights, training):
        """Returns the `TokenSums`, and the logits if a metric needs them, otherwise None."""
        metrics = self.metrics_of_sums(weights)
        updated = [*(metrics or []), *self.by_products_of(training)]
        count_right = any(isinstance(metric, TokenAccuracy) for metric in updated)
        if training and self.r_drop:
            sums, logits = r_drop_sums(self, inputs, labels, weights, self.r_drop, count_right)
        elif metrics is not None:
            outputs = outputs_without_logits(self, inputs, training)
            return self.loss.sums(outputs, labels, weights, count_right), None
        else:
            logits = self(inputs, training=training)
            sums = self.loss.sums(logits, labels, weights, count_right)
        return sums, None if metrics is not None else logits

    def replica_step(self, inputs, labels, weights, scale):
        """Returns the `TokenSums`, the gradients and the logits (or None) of this replica's rows.

        The loss is multiplied by `scale`, one over the divisor of the whole batch's loss,
        before the backward pass. Scaling the gradients afterward would cost a pass over all of
        them. The gradient of a weight that the loss does not depend on is None.
        """
        if self.forward_backward is None:
            self.forward_backward = self.make_forward_backward()
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        first = tf.cast(replica, tf.int64) * self.accumulate
        results = None
        for index in range(self.accumulate):
            part = rows_of_part((inputs, labels, weights), index, self.accumulate)
            *new, states = self.forward_backward(*part, first + index, scale)
            self.assign_states(states)
            results = new if results is None else add_results(results, new)
        if self.distribute_strategy.num_replicas_in_sync > 1:
            self.assign_states(mean_over_replicas(states))
        return results

    def states(self):
        """Returns the variables that layers may update in training, except the dropout seeds."""
        seeds = {id(seed) for seed in dropout_seeds(self)}
        variables = [*self.non_trainable_variables, *self.metrics_variables]
        return [variable for variable in variables if id(variable) not in seeds]

    def assign_states(self, values):
        """Assigns new values of `states`. The value of a state that no layer updates is None."""
        for variable, value in zip(self.states(), values, strict=True):
            if value is not None:
                variable.assign(value)

    def make_forward_backward(self):
        """Returns the forward and backward pass as one graph, compiled by XLA if `xla` is set."""
        seeds, states = dropout_seeds(self), self.states()
        weights = self.trainable_variables

        def forward_backward(inputs, labels, sample_weight, part_index, scale):
            step = tf.cast(tf.convert_to_tensor(self.optimizer.iterations), tf.int64)
            # Unique, because all replicas together have at most 1,024 parts, and each part draws at
            # most 1,024 times from one generator.
            counter = step * 2**20 + part_index * 2**10
            seed_states = [(seed, tf.stack([seed.value[0], counter])) for seed in seeds]
            with tf.GradientTape() as tape:
                with keras.StatelessScope(seed_states, collect_losses=True) as scope:
                    sums, logits = self.sums_and_logits(
                        inputs, labels, sample_weight, training=True
                    )
                # Losses that layers added are means over this part of the batch.
                penalties = [w.regularizer(w.value) for w in weights if w.regularizer is not None]
                added = tf.add_n([*scope.losses, *penalties]) if scope.losses or penalties else 0.0
                loss = (sums.loss + sums.count * tf.cast(added, tf.float32)) * scale
            gradients = tape.gradient(loss, [weight.value for weight in weights])
            gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
            return sums, gradients, logits, [scope.get_current_value(state) for state in states]

        return tf.function(forward_backward, jit_compile=self.xla or None, autograph=False)

    def apply(self, gradients):
        """Clips the gradients and updates the weights."""
        exchange = contextlib.nullcontext()  # the optimizer sums the gradients over the replicas
        if self.clip_norm is not None:
            # Clipping needs the sums, so they are exchanged here, and not again by the optimizer.
            sums = iter(sum_over_replicas([g for g in gradients if g is not None]))
            gradients = [None if g is None else next(sums) for g in gradients]
            norm = tf.linalg.global_norm([g for g in gradients if g is not None])
            gradients = scaled(gradients, tf.minimum(1.0, self.clip_norm / tf.maximum(norm, 1e-12)))
            exchange = summed_before(self.optimizer)
        with exchange:
            # The optimizer skips weights without a gradient, and warns.
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))


def scaled(gradients, scale):
    return [None if g is None else g * tf.cast(scale, g.dtype) for g in gradients]


def sum_over_replicas(tensors):
    """Returns the sums over all replicas, on every replica."""
    replica = tf.distribute.get_replica_context()
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, list(tensors))


def mean_over_replicas(states):
    """Returns the means of floats, such as those of batch normalization, over all replicas."""
    floats = [i for i, x in enumerate(states) if x is not None and x.dtype.is_floating]
    sums = sum_over_replicas([states[i] for i in floats]) if floats else []
    count = tf.distribute.get_strategy().num_replicas_in_sync
    means = {i: total / count for i, total in zip(floats, sums, strict=True)}
    return [means.get(i, x) for i, x in enumerate(states)]


@contextlib.contextmanager
def summed_before(optimizer):
    """Makes an optimizer take gradients that are already summed over the replicas.

    Keras has no option for this, so the method of the optimizer that sums them is hidden. All
    replicas leave the block only after each of them has updated its weights.
    """
    name = "_all_reduce_sum_gradients"
    vars(optimizer)[name] = list  # not by setattr, which would track it for checkpoints
    try:
        yield
    finally:
        vars(optimizer).pop(name, None)


def rows_of_part(data, index, parts):
    """Returns the rows of one of `parts` equal parts. The last part may be smaller."""

    def cut(x):
        if x is None or parts == 1:
            return x
        rows = -(-tf.shape(x)[0] // parts)
        return x[index * rows : (index + 1) * rows]

    return keras.tree.map_structure(cut, data)


def add_results(results, new):
    """Adds the sums and gradients of two parts, and concatenates the logits."""
    (sums, gradients, logits), (new_sums, new_gradients, new_logits) = results, new
    return (
        TokenSums(*(a + b for a, b in zip(sums, new_sums, strict=True))),
        [None if a is None else a + b for a, b in zip(gradients, new_gradients, strict=True)],
        None if logits is None else tf.concat([logits, new_logits], axis=0),
    )
