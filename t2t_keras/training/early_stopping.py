"""Records the best evaluation, and ends training early if no better one follows."""

import dataclasses

from t2t_keras.checks import check, check_choice
from t2t_keras.training.dataset_batches import HeldOutBatches


@dataclasses.dataclass
class EarlyStopping:
    """The best value of a held-out metric, its step, and the number of evaluations since then.

    Args:
        patience: number of evaluations without a better value after which training ends. 0: never.
        best_metric: name of the metric in an evaluation, such as "loss" or "mine/bleu". For BLEU,
            higher is better; for all other metrics, lower. None if there is no held-out text; then
            an earlier record stays unchanged.
        best_texts: digest of the held-out set on which the metric is measured.
        best_value, best_step: the best value so far and its step.
        worse: number of evaluations since then.
    """

    patience: int
    best_metric: str | None = "loss"
    best_texts: str | None = None
    best_value: float | None = None
    best_step: int | None = None
    worse: int = 0

    @property
    def higher_is_better(self):
        return self.best_metric.rpartition("/")[2] == "bleu"

    def record(self, value, step):
        """Records the metric of an evaluation. Returns whether it is the best so far."""
        sign = -1 if self.higher_is_better else 1
        if self.best_value is None or sign * value < sign * self.best_value:
            self.best_value, self.best_step, self.worse = value, step, 0
            return True
        self.worse += 1
        return False

    @property
    def is_exhausted(self):
        """Whether the patience is used up."""
        return 0 < self.patience <= self.worse

    @property
    def reason(self):
        """Why training ends when the patience is used up."""
        better = "higher" if self.higher_is_better else "lower"
        return f"no {better} {self.best_metric} in {self.patience} evaluations"

    def state(self):
        """Returns a dict for a checkpoint's notes."""
        return {name: value for name, value in vars(self).items() if name != "patience"}

    def restore(self, state, warn):
        """Continues from a checkpoint's notes if metric and texts are the same, else warns."""
        state = {name: state[name] for name in self.state()}
        same = all(state[name] == getattr(self, name) for name in ("best_metric", "best_texts"))
        if same or self.best_metric is None:
            vars(self).update(state)
        elif state["best_value"] is not None:
            warn(
                f"The best checkpoint was chosen by {state['best_metric']}. Its record starts over "
                f"with {self.best_metric}, because training.best_metric or the held-out text has "
                "changed"
            )


def early_stopping(config, held_out):
    """Returns the `EarlyStopping` of a training; the main held-out set is the first."""
    allowed = "0 without held-out text, whose loss it watches"
    check(held_out or not config.patience, "patience", config.patience, allowed)
    metric = watched_metric(config.best_metric, [each.name for each in held_out])
    watched = {each.name: each for each in held_out}.get(metric.rpartition("/")[0])
    has_metric = not (metric.endswith("bleu") and isinstance(watched, HeldOutBatches))
    allowed = "a loss if the held-out set is a tf.data.Dataset, which has no texts to translate"
    check(has_metric, "training.best_metric", config.best_metric, allowed)
    if watched is None:
        return EarlyStopping(config.patience, None)
    return EarlyStopping(config.patience, metric, watched.digest)


def watched_metric(best, names):
    """Returns the metric that `training.best_metric` selects.

    `best` is "loss" or "bleu" of the main set; or NAME, NAME/loss or NAME/bleu of any of the sets
    with these names, the main one first. A set without a name has "".
    """
    allowed = "'loss' if there is no held-out text"
    check(names or best == "loss", "training.best_metric", best, allowed)
    main = f"{names[0]}/" if names and names[0] else ""
    choices = {metric: main + metric for metric in ("loss", "bleu")}
    for name in filter(None, names):
        choices |= {name: f"{name}/loss", f"{name}/loss": f"{name}/loss"}
        choices[f"{name}/bleu"] = f"{name}/bleu"
    check_choice("training.best_metric", best, choices)
    return choices[best]
