"""The course of training: `training.jsonl`, one line every `log_every` steps.

A line has the means since the previous line, so it depends on all steps in between. Checkpoints
contain what has been summed up since that line. So a resumed run writes the same losses as an
uninterrupted one.
"""

import tensorflow as tf

from t2t_keras.schedules import rate_of_last_update
from t2t_keras.training.logs.metrics_file import MetricsFile


class IntervalLog:
    """Records a compiled model's training metrics, which are reset after each interval."""

    def __init__(self, path, model, strategy):
        self.file = MetricsFile(path)
        self.model, self.strategy = model, strategy
        self.tokens, self.seconds = 0, 0.0  # at the start of the interval
        self.read_sums = tf.function(
            lambda: [tf.convert_to_tensor(each) for each in model.metrics_variables]
        )

    def append(self, logs, step, tokens, seconds):
        """Adds a line and begins the next interval. Returns the values of the line.

        `logs` are the means since the previous line; `tokens` and `seconds` count all training so
        far.
        """
        elapsed = max(seconds - self.seconds, 1e-9)
        values = {
            "step": step,
            **{name: float(value) for name, value in logs.items()},
            "learning_rate": rate_of_last_update(self.model.optimizer),
            "tokens_per_second": (tokens - self.tokens) / elapsed,
            "tokens": tokens,
            "seconds": round(seconds, 3),
        }
        self.file.append(values, synced=False)  # a checkpoint follows before the line is needed
        self.tokens, self.seconds = tokens, seconds
        return values

    def state(self):
        """Returns the state of the interval in progress, for a checkpoint's notes.

        Waits until all lines are on disk, because a run that resumes from the checkpoint does not
        write them again.
        """
        self.file.sync()
        return {"tokens": self.tokens, "seconds": self.seconds, "metrics": self.sums()}

    def restore(self, state, tokens, seconds):
        """Continues the interval of a checkpoint's `state`, or begins one if it is None."""
        self.tokens, self.seconds = tokens, seconds
        self.model.reset_metrics()
        if state:
            self.tokens, self.seconds = state["tokens"], state["seconds"]
            self.set_sums(state["metrics"])

    def sums(self):
        """Returns the values of the metrics' variables on the first replica, as lists."""
        values = self.strategy.run(self.read_sums)
        local = self.strategy.experimental_local_results
        return [local(value)[0].numpy().tolist() for value in values]

    def set_sums(self, values):
        """Assigns the result of `sums` on each replica: all of them have the same values.

        If the metrics of the model have changed, the interval begins here.
        """
        variables = self.model.metrics_variables
        if len(values) != len(variables):
            return

        @tf.function
        def assign():
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)

        self.strategy.run(assign)
