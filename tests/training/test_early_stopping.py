import pytest

from t2t_keras.training.early_stopping import EarlyStopping, early_stopping, watched_metric
from t2t_keras.training.training_config import TrainingConfig


def recorded(values, **settings):
    """Returns an `EarlyStopping` after evaluations at steps 1, 2, 3, …."""
    stopping = EarlyStopping(**settings)
    for step, value in enumerate(values, 1):
        stopping.record(value, step)
    return stopping


def test_the_lowest_loss_resets_the_count():
    stopping = recorded([3.0, 3.0, 2.5], patience=2)
    assert (stopping.best_value, stopping.best_step, stopping.worse) == (2.5, 3, 0)
    assert not stopping.record(2.5, 4) and stopping.record(2.4, 5)


def test_training_ends_when_the_patience_is_used_up():
    assert not recorded([1.0, 1.5], patience=2).is_exhausted
    assert recorded([1.0, 1.5, 1.2], patience=2).is_exhausted
    assert not recorded([1.0] * 5, patience=0).is_exhausted, "0 never stops"


def test_a_higher_bleu_is_better():
    stopping = recorded([20.0, 21.0, 20.5], patience=1, best_metric="mine/bleu")
    assert stopping.is_exhausted and stopping.best_step == 2
    assert stopping.reason == "no higher mine/bleu in 1 evaluations"


def test_restored_state_counts_against_the_new_patience():
    before, longer = recorded([1.0] * 3, patience=2), EarlyStopping(patience=3)
    longer.restore(before.state(), warn=None)
    assert before.is_exhausted and not longer.is_exhausted
    longer.record(1.0, 4)
    assert longer.is_exhausted and longer.best_step == 1


def test_a_record_of_a_different_metric_or_text_starts_over_with_a_warning():
    warnings, before = [], recorded([2.0], patience=2, best_texts="a")
    same, metric, texts = (
        EarlyStopping(2, name, texts)
        for name, texts in (("loss", "a"), ("mine/bleu", "a"), ("loss", "b"))
    )
    for stopping in (same, metric, texts):
        stopping.restore(EarlyStopping(2).state(), warnings.append)
        assert warnings == [], "nothing was recorded"
    for stopping in (same, metric, texts):
        stopping.restore(before.state(), warnings.append)
    assert [each.best_step for each in (same, metric, texts)] == [1, None, None]
    assert [each.partition(", because")[0] for each in warnings] == [
        f"The best checkpoint was chosen by loss. Its record starts over with {metric}"
        for metric in ("mine/bleu", "loss")
    ]


def test_without_held_out_text_the_record_is_kept_as_it_is():
    before = recorded([31.0], patience=2, best_metric="mine/bleu", best_texts="a")
    resumed = EarlyStopping(patience=0, best_metric=None)
    resumed.restore(before.state(), None)
    assert resumed.state() == before.state()
    with pytest.raises(ValueError, match=r"`patience` must be 0 without held-out text.*patience=2"):
        early_stopping(TrainingConfig(patience=2), [])


@pytest.mark.parametrize(
    ("best", "names", "metric"),
    [
        ("loss", [], "loss"),
        ("bleu", [""], "bleu"),
        ("loss", ["general", "mine"], "general/loss"),
        ("bleu", ["general", "mine"], "general/bleu"),
        ("mine", ["general", "mine"], "mine/loss"),
        ("mine/bleu", ["general", "mine"], "mine/bleu"),
    ],
)
def test_the_best_checkpoint_is_chosen_by_one_metric_of_one_set(best, names, metric):
    assert watched_metric(best, names) == metric


@pytest.mark.parametrize(
    ("best", "names", "message"),
    [
        ("bleu", [], "`training.best_metric` must be 'loss' if there is no held-out text"),
        ("mine", [""], "one of 'loss', 'bleu'. Received: training.best_metric='mine'"),
        ("mine/blue", ["mine"], "'mine/bleu' .did you mean 'mine/bleu'"),
    ],
)
def test_a_best_metric_that_is_not_measured_is_refused(best, names, message):
    with pytest.raises(ValueError, match=message):
        watched_metric(best, names)
