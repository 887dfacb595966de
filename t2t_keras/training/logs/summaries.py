"""Metrics and example translations for TensorBoard."""

import string
import time

import keras
import tensorflow as tf

from t2t_keras.evaluation.held_out_metrics import by_set, without_sets

# {metric: (group/title in TensorBoard, description)}
TAGS = {
    "loss": ("quality/loss", "Mean loss of a token, with label smoothing."),
    "perplexity": (
        "quality/perplexity",
        "A perplexity of k means that the model is as uncertain as if it chose among k equally "
        "likely tokens.",
    ),
    "token_accuracy": (
        "quality/token accuracy",
        "Share of tokens that the model ranks first, given the reference up to there.",
    ),
    "bleu": ("quality/BLEU", "BLEU of greedy translations of held-out text, from 0 to 100."),
    "learning_rate": ("schedule/learning rate", "Learning rate of the last update."),
    "tokens_per_second": (
        "speed and cost/tokens per second",
        "Training tokens per second since the previous point, source and target together.",
    ),
    "seconds": ("speed and cost/seconds", "Training time, without evaluating and saving."),
    "flops": (
        "speed and cost/FLOPs",
        "Floating-point operations: time × the sustained rate of the devices.",
    ),
}
COST = ("seconds", "flops")  # written at evaluations only
PROGRESS = ("step", "tokens", "learning_rate", "tokens_per_second", *COST)


class Summaries(keras.callbacks.Callback):
    """Writes the training metrics of each interval, and the results of each evaluation.

    When a run resumes from an earlier step, TensorBoard discards its summaries of later steps. The
    logs go to the subfolders `training` and `held_out`. Each named held-out set has its own
    subfolder, so that TensorBoard draws the same metric of all sets in one chart.
    """

    def __init__(self, folder, names=()):
        super().__init__()
        self.folder, self.names = folder, list(filter(None, names))

    def on_train_begin(self, logs=None):
        next_step = int(self.model.optimizer.iterations.numpy()) + 1
        folders = ("training", *(self.names or ["held_out"]))
        self.writers = {name: writer_from(next_step, self.folder / name) for name in folders}

    def write_interval(self, values):
        """Writes a line of `training.jsonl`."""
        self.write_scalars("training", values, skipped=("step", "tokens", *COST))

    def write_evaluation(self, results, examples):
        """Writes a line of `metrics.jsonl`, and {name of a held-out set: example translations}."""
        step = results["step"]
        costs = {name: results[name] for name in ("step", *COST) if name in results}
        self.write_scalars("training", costs, skipped=("step",))
        sets = by_set(results) if self.names else {"held_out": without_sets(results)}
        for set_name, metrics in sets.items():
            own = {k: value for k, value in metrics.items() if not k.startswith("train_")}
            self.write_scalars(set_name, own | {"step": step}, skipped=PROGRESS)
        for name, shown in examples.items():
            with self.writers[name or "held_out"].as_default(step=step):
                description = "Greedy translations of the same held-out sentences each time."
                table = table_of(shown)
                tf.summary.text("example translations", table, description=description)
        # A checkpoint may follow. The metrics up to its step must survive if the process is killed.
        for writer in self.writers.values():
            writer.flush()

    def write_scalars(self, folder, values, skipped):
        """Writes the numbers among `values`, a dict with a "step", to a folder."""
        with self.writers[folder].as_default(step=values["step"]):
            for name, value in values.items():
                if isinstance(value, int | float) and name not in skipped:
                    tag, description = TAGS.get(name, (f"quality/{name}", "A metric of the model."))
                    tf.summary.scalar(tag, value, description=description)

    def on_train_end(self, logs=None):
        for writer in self.writers.values():
            writer.close()


def table_of(examples):
    """Returns rows of text, which TensorBoard shows as a table: a row for each example."""
    sides = ("source", "reference", "output")
    return [sides, *([escaped(getattr(each, side).strip()) for side in sides] for each in examples)]


def escaped(text):
    """Returns text without a meaning in Markdown and HTML, which TensorBoard renders."""
    return "".join(f"&#{ord(sign)};" if sign in string.punctuation else sign for sign in text)


def writer_from(step, folder):
    """Returns a summary writer that replaces earlier summaries of this and later steps."""
    writer = tf.summary.create_file_writer(str(folder))
    log = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    # This event makes TensorBoard discard these steps, unless it is the first one in a folder.
    start = tf.compat.v1.Event(wall_time=time.time(), step=step, session_log=log)
    tf.raw_ops.ImportEvent(writer=writer._resource, event=start.SerializeToString())
    return writer
