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

from t2t_keras.checks import check
from t2t_keras.losses import TokenSums
from t2t_keras.training.hardware.devices import choose_xla
from t2t_keras.training.step import token_sums
from t2t_keras.training.step.compile_options import CompileOptions, dropout_seeds
from t2t_keras.training.step.r_drop import r_drop_sums


class TrainingStep(CompileOptions):
    """The training step, for a `SequenceModel` that also derives from this class."""

    def compile(self, *args, jit_compile="auto", **kwargs):
        """See `CompileOptions.compile`."""
        is_choice = jit_compile in ("auto", True, False)
        check(is_choice, "jit_compile", jit_compile, "True, False or 'auto'")
        # Keras would also compile the exchange between replicas, which fails.
        super().compile(*args, jit_compile=False, **kwargs)
        self.compile_options["jit_compile"] = jit_compile
        self.xla = token_sums.has_sums(self) and choose_xla(jit_compile)
        self.forward_backward = None
        if token_sums.has_sums(self) or self.distribute_strategy.num_replicas_in_sync > 1:
            with self.distribute_strategy.scope():
                self.build_metrics()

    def build_metrics(self):
        """Creates the metrics' variables now. Keras would do so later, inside the strategy."""
        ids = tf.ones([1, 1], tf.int32)
        logits = tf.zeros([1, 1, self.config.vocab_size])
        values = [(w, w.value) for w in self.trainable_variables if w.regularizer is not None]
        with keras.StatelessScope(values):
            self.compute_metrics({"source": ids, "target": ids}, ids, logits)
            self.compute_loss({"source": ids, "target": ids}, ids, logits)

    def quantize(self, *args, **kwargs):
        """Quantizes the layers, as Keras' models do. `fit` after it needs a new `compile`."""
        super().quantize(*args, **kwargs)
        self.forward_backward = None  # its graph has the variables that were replaced

    def train_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not token_sums.has_sums(self):
            self.refuse_unused_options()
            return super().train_step(data)
        refuse_scaled_loss(self)
        _, count = self.loss.weights_and_count(labels, weights)
        scale = tf.math.reciprocal_no_nan(sum_over_replicas([tf.cast(count, tf.float32)])[0])
        sums, gradients, logits = self.replica_step(inputs, labels, weights, scale)
        total = TokenSums(*sum_over_replicas(sums))
        self.apply(gradients)
        return self.updated_metrics(total, inputs, labels, logits, weights, training=True)

    def test_step(self, data):
        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if not token_sums.has_sums(self):
            return super().test_step(data)
        sums, logits = self.sums_and_logits(inputs, labels, weights, training=False)
        total = TokenSums(*sum_over_replicas(sums))
        return self.updated_metrics(total, inputs, labels, logits, weights, training=False)

    def metrics_of_sums(self, weights, training):
        is_keras = type(self).compute_metrics is keras.Model.compute_metrics
        return token_sums.metrics_of_sums(self, weights, training) if is_keras else None

    def sums_and_logits(self, inputs, labels, weights, training):
        """Returns the `TokenSums`, and the logits if a metric needs them, otherwise None."""
        metrics = self.metrics_of_sums(weights, training)
        count_right = token_sums.counts_right(metrics)
        if training and self.r_drop:
            sums, logits = r_drop_sums(self, inputs, labels, weights, self.r_drop, count_right)
        elif metrics is not None:
            outputs = token_sums.outputs_without_logits(self, inputs, training)
            return self.loss.sums(outputs, labels, weights, count_right, inputs), None
        else:
            logits = self(inputs, training=training)
            sums = self.loss.sums(logits, labels, weights, count_right, inputs)
        return sums, None if metrics is not None else logits

    def updated_metrics(self, total, inputs, labels, logits, weights, training):
        """Updates loss and metrics for the whole batch, and returns the metrics in use.

        `total` is of all replicas, the arrays are of this one. `logits` may be None.
        """
        loss = next(metric for metric in self.metrics if metric.name == "loss")
        loss.update_state(tf.math.divide_no_nan(total.loss, total.count), total.count)
        if logits is not None:
            return self.compute_metrics(inputs, labels, logits, weights)
        metrics = self.metrics_of_sums(weights, training)
        token_sums.update_metrics(metrics, total)
        unused = [m.name for m in self.metrics_of_sums(weights, False) if m not in metrics]
        return {name: x for name, x in self.get_metrics_result().items() if name not in unused}

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
            scale = tf.minimum(1.0, self.clip_norm / tf.maximum(norm, 1e-12))
            gradients = [None if g is None else g * tf.cast(scale, g.dtype) for g in gradients]
            exchange = summed_before(self.optimizer)
        with exchange:
            # The optimizer skips weights without a gradient, and warns.
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))


def refuse_scaled_loss(model):
    """Rejects float16 and optimizers with a scaled loss."""
    optimizer = model.optimizer
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    if scaled or optimizer.loss_scale_factor is not None or model.compute_dtype == "float16":
        raise ValueError(
            "The training step does not scale the loss, so gradients in float16 would vanish. Use "
            "the dtype 'mixed_bfloat16', which needs no scale, and no loss_scale_factor. "
            f"Received: dtype={model.dtype_policy.name!r}, optimizer={type(optimizer).__name__} "
            f"with loss_scale_factor={optimizer.loss_scale_factor}"
        )


def sum_over_replicas(tensors):
    """Returns the sums over all replicas, on every replica."""
    replica = tf.distribute.get_replica_context()
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, list(tensors))


def mean_over_replicas(states):
    """Returns means of floats over all replicas, such as the means of batch normalization."""
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
