"""Options of `compile` and metrics of the training step on TensorFlow."""

from types import SimpleNamespace

import keras
import tensorflow as tf

from t2t_keras.checks import check, check_boolean, check_integer, check_not_negative
from t2t_keras.metrics import Perplexity, TokenAccuracy
from t2t_keras.training.hardware.devices import choose_xla
from t2t_keras.training.step.compile_options import CompileOptions
from t2t_keras.training.step.recomputation import recompute_blocks
from t2t_keras.training.step.token_sums import has_sums, metrics_of_sums, update_metrics


class CompileAndMetrics(CompileOptions):
    """Base class of the training step on TensorFlow."""

    def compile(
        self,
        *args,
        jit_compile="auto",
        accumulate=1,
        clip_norm=None,
        r_drop=0.0,
        by_products=False,
        recompute=False,
        **kwargs,
    ):
        """Configures training like Keras' `compile`, with a few more options.

        Args:
            jit_compile: whether XLA compiles the step: True, False, or "auto", which is True if
                there is a GPU or TPU.
            accumulate: number of parts into which a replica splits its rows. The parts are
                computed one after another, so that a large batch needs less memory. The result is
                the same as for the whole batch.
            clip_norm: maximum global norm of the gradients of the whole batch. Larger gradients are
                scaled down. None or 0: no limit.
            r_drop: α of R-Drop, see r_drop.py. 0: one pass over each batch.
            by_products: whether to report perplexity, which the loss yields at no extra cost, and
                token accuracy in evaluations. Needs a loss that gives one value for each token.
            recompute: whether the backward pass computes each block again instead of keeping its
                arrays, see recomputation.py.
        """
        check_integer("accumulate", accumulate)
        check_not_negative("r_drop", r_drop)
        check_not_negative("clip_norm", 0 if clip_norm is None else clip_norm)
        clip_norm = clip_norm or None
        check_boolean("by_products", by_products)
        is_choice = jit_compile in ("auto", True, False)
        check(is_choice, "jit_compile", jit_compile, "True, False or 'auto'")
        # Keras would also compile the exchange between replicas, which fails.
        self.compile_in_keras(*args, jit_compile=False, **kwargs)
        self.compile_options = {
            "jit_compile": jit_compile,
            "accumulate": accumulate,
            "clip_norm": clip_norm,
            "r_drop": r_drop,
            "by_products": by_products,
            "recompute": recompute,
        }
        self.xla = has_sums(self) and choose_xla(jit_compile)
        recompute_blocks(self, recompute, self.xla)
        self.accumulate = accumulate
        self.clip_norm = clip_norm
        self.r_drop = r_drop
        self.forward_backward = None
        with self.distribute_strategy.scope():
            # In a namespace, because Keras forbids metrics as attributes of a built model.
            self.by_products = SimpleNamespace(metrics=[])
            if has_sums(self) or self.distribute_strategy.num_replicas_in_sync > 1:
                self.build_metrics()
            if has_sums(self) and by_products:
                names = self.metrics_names + [
                    each.name for metric in self.metrics for each in getattr(metric, "metrics", [])
                ]
                candidates = Perplexity(), TokenAccuracy()
                self.by_products.metrics = [m for m in candidates if m.name not in names]

    @property
    def metrics(self):
        by_products = getattr(self, "by_products", SimpleNamespace(metrics=[]))
        return [*super().metrics, *by_products.metrics]

    def build_metrics(self):
        """Creates the metrics' variables now. Keras would do so later, inside the strategy."""
        ids = tf.ones([1, 1], tf.int32)
        logits = tf.zeros([1, 1, self.config.vocab_size])
        values = [(w, w.value) for w in self.trainable_variables if w.regularizer is not None]
        with keras.StatelessScope(values):
            self.compute_metrics({"source": ids, "target": ids}, ids, logits)
            self.compute_loss({"source": ids, "target": ids}, ids, logits)

    def metrics_of_sums(self, weights):
        """Returns the metrics given to `compile`, or None if they need the logits."""
        is_keras = type(self).compute_metrics is keras.Model.compute_metrics
        return metrics_of_sums(self, weights) if is_keras else None

    def by_products_of(self, training):
        """Returns the by-products to update. Accuracy is computed only in evaluations."""
        metrics = self.by_products.metrics
        return [m for m in metrics if not (training and isinstance(m, TokenAccuracy))]

    def updated_metrics(self, total, inputs, labels, logits, weights, training):
        """Updates all metrics, loss and by-products for the whole batch, and returns them.

        Args:
            total: the `TokenSums` of all replicas.
            inputs, labels, logits, weights: the arrays of this replica. `logits` may be None.
        """
        loss = next(metric for metric in self.metrics if metric.name == "loss")
        loss.update_state(tf.math.divide_no_nan(total.loss, total.count), total.count)
        update_metrics(self.by_products_of(training), total)
        if logits is not None:
            return self.compute_metrics(inputs, labels, logits, weights)
        update_metrics(self.metrics_of_sums(weights), total)
        return self.get_metrics_result()


def refuse_unused_options(model):
    """Rejects options of `compile` that Keras' training step would ignore."""
    if model.accumulate > 1 or model.clip_norm is not None or model.r_drop:
        raise ValueError(
            "`accumulate`, `clip_norm` and `r_drop` have an effect only with a loss that is a mean "
            "of one value for each token, without loss_weights and without `compute_loss` or "
            "`__call__` of one's own. With another loss, use the optimizer's "
            "gradient_accumulation_steps and global_clipnorm, and no r_drop. Received: "
            f"loss={model.loss!r}, accumulate={model.accumulate}, clip_norm={model.clip_norm}, "
            f"r_drop={model.r_drop}"
        )


def refuse_scaled_loss(model):
    """Rejects float16 and optimizers with a scaled loss."""
    optimizer = model.optimizer
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    if scaled or optimizer.loss_scale_factor is not None or model.compute_dtype == "float16":
        raise ValueError(
            "The training step does not scale the loss. So gradients in float16 would vanish, and "
            "an optimizer that divides them by the scale would make its updates too small. Use "
            "the dtype 'mixed_bfloat16', which needs no scale, and no loss_scale_factor. "
            f"Received: dtype={model.dtype_policy.name!r}, optimizer={type(optimizer).__name__} "
            f"with loss_scale_factor={optimizer.loss_scale_factor}"
        )
