"""Checks that losses and weights stay finite, and names the batches that may be the cause."""

import math

from pipelines.exit_codes import DIVERGED
from t2t_keras.evaluation.held_out_metrics import by_set
from t2t_keras.training.checkpoints import check_finite, state_of

ADVICE = (
    "Try a smaller training.learning_rate, a longer training.warmup_steps, training.clip_norm=1, "
    "or float32"
)


class NonFiniteLoss(ValueError):
    """A loss or a weight became infinite or NaN."""

    exit_code = DIVERGED


class FiniteChecks:
    """Raises `NonFiniteLoss` if a loss or a weight of a training is infinite or NaN."""

    def __init__(self, model, data, checkpoints):
        self.model, self.data, self.checkpoints = model, data, checkpoints

    def check_losses(self, losses, steps):
        """Checks the losses of the last steps, given the number of steps taken."""
        for step, loss in enumerate(losses, steps - len(losses)):
            if math.isfinite(loss):
                continue
            causes = f"its batch ({self.pairs(step)})"
            if step:
                causes += f" or the update of step {step:,} ({self.pairs(step - 1)})"
            self.fail(f"The loss of step {step + 1:,} is {float(loss)}. The cause is {causes}")

    def check_weights(self, state, step):
        """Checks the state of the model after a step, that is, its weights and moments."""
        try:
            check_finite(state)
        except ValueError as error:
            self.fail(
                f"After step {step:,} the model is no longer finite ({error}), although all "
                f"losses were. The batch of this step: {self.pairs(step - 1)}",
                error,
            )

    def check_held_out(self, results, step):
        """Checks the held-out losses after a step."""
        for name, metrics in (by_set(results) or {"": results}).items():
            if math.isfinite(metrics["loss"]):
                continue
            self.check_weights(state_of(self.model), step)
            of = f" ({name})" if name else ""
            raise NonFiniteLoss(
                f"The held-out loss{of} after step {step:,} is {metrics['loss']}, although "
                "all weights are finite. Probably the model cannot process one of the held-out "
                "pairs. Remove it, or train without held-out text"
            )

    def pairs(self, step):
        examples = self.data.examples(step)
        if examples is None:
            return f"dataset.repeat().skip({step}).take(1)"
        return f"sentence pairs {shortened(examples)}"

    def fail(self, event, error=None):
        newest = "There is no checkpoint yet"
        if steps := self.checkpoints.steps():
            newest = f"The newest checkpoint, from step {steps[-1]:,}, is older"
        raise NonFiniteLoss(f"{event}. {newest}. {ADVICE}") from error


def shortened(values, most=20):
    """Formats the first values, with the total number if there are more."""
    shown = ", ".join(str(value) for value in list(values)[:most])
    return shown + (f", … ({len(values)} in all)" if len(values) > most else "")
