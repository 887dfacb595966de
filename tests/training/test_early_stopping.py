import pytest

from t2t_keras.training.early_stopping import EarlyStopping, watched_metric


def test_the_lowest_loss_resets_the_count():
    stopping = EarlyStopping(patience=2)
    assert stopping.record(3.0, 10)
    assert not stopping.record(3.0, 10)
    assert stopping.worse == 1
    assert stopping.record(2.5, 30)
    assert (stopping.best_value, stopping.best_step, stopping.worse) == (2.5, 30, 0)


def test_a_higher_bleu_is_better():
    stopping = EarlyStopping(patience=1, metric="mine/bleu")
    assert stopping.record(20.0, 1) and stopping.record(21.0, 2) and not stopping.record(20.5, 3)
    assert stopping.is_exhausted and stopping.best_step == 2
    assert stopping.reason == "no higher mine/bleu in 1 evaluations"


def test_the_patience_is_used_up_by_evaluations_without_a_lower_loss():
    stopping = EarlyStopping(patience=2)
    exhausted = []
    for loss in (1.0, 1.5, 1.2):
        stopping.record(loss, 1)
        exhausted.append(stopping.is_exhausted)
    assert exhausted == [False, False, True]


def test_patience_0_never_stops():
    stopping = EarlyStopping(patience=0)
    for _ in range(5):
        stopping.record(1.0, 1)
    assert not stopping.is_exhausted


def test_restored_state_counts_against_the_new_patience():
    stopping = EarlyStopping(patience=2)
    for _ in range(3):
        stopping.record(1.0, 1)
    longer = EarlyStopping(patience=3)
    longer.restore(stopping.state(), warn=None)
    assert stopping.is_exhausted and not longer.is_exhausted
    longer.record(1.0, 1)
    assert longer.is_exhausted


def test_a_record_of_a_different_metric_starts_over_with_a_warning():
    stopping, warnings = EarlyStopping(patience=2, metric="mine/bleu"), []
    notes = EarlyStopping(patience=2).state()
    stopping.restore(notes, warnings.append)
    assert warnings == [], "nothing was recorded"
    stopping.restore(notes | {"best_value": 2.0, "best_step": 10, "worse": 2}, warnings.append)
    assert not stopping.is_exhausted and stopping.record(1.0, 30)
    assert warnings == [
        "The best checkpoint was chosen by loss and is now chosen by mine/bleu "
        "(training.best_metric, or the first held-out set): its record starts over"
    ]


def test_a_record_on_different_texts_starts_over_with_a_warning():
    before, warnings = EarlyStopping(patience=2, texts="a"), []
    before.record(2.0, 10)
    same, changed = (EarlyStopping(patience=2, texts=texts) for texts in "ab")
    for stopping in (same, changed):
        stopping.restore(before.state(), warnings.append)
    assert (same.best_step, changed.best_step) == (10, None)
    assert [each.partition(":")[0] for each in warnings] == [
        "The best checkpoint was chosen by loss on a different held-out text"
    ]
    older = {name: value for name, value in before.state().items() if name != "best_texts"}
    changed.restore(older, warnings.append)
    assert changed.best_step == 10 and len(warnings) == 1


def test_without_held_out_text_the_record_is_kept_as_it_is():
    before = EarlyStopping(patience=2, metric="mine/bleu", texts="a")
    before.record(31.0, 10)
    resumed = EarlyStopping(patience=0, metric=None)
    resumed.restore(before.state(), None)
    assert resumed.state() == before.state()


@pytest.mark.parametrize(
    ("best", "names", "metric"),
    [
        ("loss", [], "loss"),
        ("loss", [""], "loss"),
        ("bleu", [""], "bleu"),
        ("loss", ["general", "mine"], "general/loss"),
        ("bleu", ["general", "mine"], "general/bleu"),
        ("mine", ["general", "mine"], "mine/loss"),
        ("mine/loss", ["general", "mine"], "mine/loss"),
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
