"""The training step on JAX: Keras' step, with the loss in chunks if no metric needs the logits."""

import keras
from keras import ops

from t2t_keras.losses import TokenSums
from t2t_keras.training.step import token_sums
from t2t_keras.training.step.compile_options import CompileOptions


class TrainingStep(CompileOptions):
    """Keras' step with the loss in chunks, for a `SequenceModel` that also derives from this."""

    def compute_loss_and_updates(self, *arguments, training=False, optimizer_variables=None):
        """Computes the loss as Keras does, but returns `TokenSums` in place of the logits."""
        trained, untrained, metrics_variables, x, y, sample_weight = arguments
        metrics = self.metrics_of_sums(sample_weight)
        if metrics is None:
            options = {"training": training, "optimizer_variables": optimizer_variables}
            return super().compute_loss_and_updates(*arguments, **options)
        variables = [*self.trainable_variables, *self.non_trainable_variables]
        values = [*trained, *untrained]
        mapping = zip(variables, values, strict=True)
        with keras.StatelessScope(mapping, collect_losses=True) as scope:
            outputs = token_sums.outputs_without_logits(self, x, training)
            sums = self.loss.sums(outputs, y, sample_weight, token_sums.counts_right(metrics), x)
        updated = [scope.get_current_value(v) for v in self.non_trainable_variables]
        loss = scaled = ops.divide_no_nan(sums.loss, sums.count)
        if training:
            mapping = zip(self.optimizer.variables, optimizer_variables, strict=True)
            with keras.StatelessScope(mapping):
                # The losses that layers added are included.
                scaled = self.optimizer.scale_loss(sum(scope.losses, loss))
        return scaled, (loss, sums, updated, metrics_variables)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if not isinstance(y_pred, TokenSums):
            return super().compute_metrics(x, y, y_pred, sample_weight)
        token_sums.update_metrics(self.metrics_of_sums(sample_weight), y_pred)
        return self.get_metrics_result()

    def metrics_of_sums(self, sample_weight):
        """Returns the metrics given to `compile`, or None if loss or metrics need the logits."""
        needs_logits = (
            not token_sums.has_sums(self)
            or type(self).compute_metrics is not TrainingStep.compute_metrics
            or any(weight.regularizer is not None for weight in self.trainable_variables)
        )
        return None if needs_logits else token_sums.metrics_of_sums(self, sample_weight)
