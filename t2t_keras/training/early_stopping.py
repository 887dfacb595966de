"""Records the best evaluation, and ends training early if no better one follows."""

from t2t_keras.checks import check, check_choice
from t2t_keras.training.dataset_batches import HeldOutBatches


class EarlyStopping:
    """The best value of a held-out metric, its step, and the number of evaluations since then.

    Args:
        patience: number of evaluations without a better value after which training ends. 0: never.
        metric: name of the metric in an evaluation, such as "loss" or "mine/bleu". For BLEU,
            higher is better; for all other metrics, lower. None if there is no held-out text; then
            an earlier record stays unchanged.
        texts: digest of the held-out set on which the metric is measured.
    """

    def __init__(self, patience, metric="loss", texts=None):
        self.patience, self.metric, self.texts = patience, metric, texts
        self.best_value = None
        self.best_step = None
        self.worse = 0  # evaluations since the best value

    @property
    def higher_is_better(self):
        return self.metric.rpartition("/")[2] == "bleu"

    def record(self, value, step):
        """Records the metric of an evaluation. Returns whether it is the best so far."""
        if self.best_value is None or self.is_better(value):
            self.best_value, self.best_step, self.worse = value, step, 0
            return True
        self.worse += 1
        return False

    def is_better(self, value):
        return value > self.best_value if self.higher_is_better else value < self.best_value

    @property
    def is_exhausted(self):
        """Whether the patience is used up."""
        return 0 < self.patience <= self.worse

    @property
    def reason(self):
        """Why training ends when the patience is used up."""
        better = "higher" if self.higher_is_better else "lower"
        return f"no {better} {self.metric} in {self.patience} evaluations"

    def state(self):
        """Returns a dict for a checkpoint's notes."""
        return {
            "best_metric": self.metric,
            "best_texts": self.texts,
            "best_value": self.best_value,
            "best_step": self.best_step,
            "worse": self.worse,
        }

    def restore(self, state, warn):
        """Continues from the `state` of an earlier process, if metric and texts are the same.

        Args:
            state: the notes of a checkpoint.
            warn: called with a message if the record starts over.
        """
        metric, value = state["best_metric"], state["best_value"]
        if value is None:
            return
        if self.metric is None:
            self.metric, self.texts = metric, state["best_texts"]
        elif metric != self.metric:
            warn(
                f"The best checkpoint was chosen by {metric} and is now chosen by {self.metric} "
                "(training.best_metric, or the first held-out set): its record starts over"
            )
            return
        elif state["best_texts"] != self.texts:
            warn(
                f"The best checkpoint was chosen by {metric} on a different held-out text: its "
                "record starts over"
            )
            return
        self.best_value, self.best_step, self.worse = value, state["best_step"], state["worse"]


def early_stopping(config, held_out):
    """Returns the `EarlyStopping` of a training.

    Args:
        config: a `TrainingConfig`.
        held_out: the held-out sets, the main one first; see `Trainer`.
    """
    check(
        held_out or not config.patience,
        "patience",
        config.patience,
        "0 without held-out text, whose loss it watches",
    )
    metric = watched_metric(config.best_metric, [each.name for each in held_out])
    watched = {each.name: each for each in held_out}.get(metric.rpartition("/")[0])
    check(
        not (metric.endswith("bleu") and isinstance(watched, HeldOutBatches)),
        "training.best_metric",
        config.best_metric,
        "a loss if the held-out set is a tf.data.Dataset, which has no texts to translate",
    )
    if watched is None:
        return EarlyStopping(config.patience, None)
    return EarlyStopping(config.patience, metric, watched.digest)


def watched_metric(best, names):
    """Returns the metric that the setting `training.best_metric` selects.

    Args:
        best: "loss" or "bleu" of the main set; or NAME, NAME/loss or NAME/bleu of any set.
        names: the names of the held-out sets, the main one first. A set without a name has "".
    """
    check(
        names or best == "loss", "training.best_metric", best, "'loss' if there is no held-out text"
    )
    main = f"{names[0]}/" if names and names[0] else ""
    choices = {metric: main + metric for metric in ("loss", "bleu")}
    for name in filter(None, names):
        choices[name] = choices[f"{name}/loss"] = f"{name}/loss"
        choices[f"{name}/bleu"] = f"{name}/bleu"
    check_choice("training.best_metric", best, choices)
    return choices[best]
