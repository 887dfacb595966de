"""All records that a training leaves: the console, metrics files and TensorBoard."""

from t2t_keras.training.logs.console import Console
from t2t_keras.training.logs.interval_log import IntervalLog
from t2t_keras.training.logs.metrics_file import MetricsFile
from t2t_keras.training.logs.summaries import Summaries


class Records:
    """Writes what one machine of a training records. All but the chief write nothing to files.

    Args:
        folder: the run's folder, a `Path`.
        config: a `TrainingConfig`.
        model: the compiled model.
        strategy: a `tf.distribute` strategy.
        names: the names of the held-out sets.
        is_chief: whether this machine writes the files.
        progress: a function without arguments; see `Console`.
    """

    def __init__(self, folder, config, model, strategy, names, is_chief, progress):
        self.is_chief = is_chief
        self.console = Console(config, progress, is_chief, logs=folder / "logs")
        self.metrics_file = MetricsFile(folder / "metrics.jsonl")
        self.intervals = IntervalLog(folder / "training.jsonl", model, strategy)
        self.summaries = Summaries(folder / "logs", names) if is_chief else None

    def callbacks(self):
        """Returns those records that are Keras callbacks."""
        return [*filter(None, [self.summaries]), self.console]

    def interval(self, logs, step, tokens, seconds):
        """Records the training metrics since the previous line of the log."""
        if self.is_chief:
            values = self.intervals.append(logs, step, tokens, seconds)
            self.summaries.write_interval(values)

    def evaluation(self, results, examples, best_metric):
        """Records an evaluation.

        Args:
            results: {metric: value}.
            examples: translations to show.
            best_metric: the metric whose value is the best so far, or None.
        """
        if self.is_chief:
            self.metrics_file.append(results)
            self.summaries.write_evaluation(results, examples)
            self.console.show_evaluation(results, best_metric)
            self.console.show_examples(examples)

    def forget_after(self, step):
        """Removes the lines after the step at which a run resumes; they will be written again."""
        if self.is_chief:
            for file in (self.metrics_file, self.intervals.file):
                file.forget_after(step)
