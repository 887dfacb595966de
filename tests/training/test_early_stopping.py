from t2t_keras.training.early_stopping import EarlyStopping


def test_the_lowest_loss_resets_the_count():
    stopping = EarlyStopping(patience=2)
    assert stopping.record(3.0, 10)
    assert not stopping.record(3.0, 10)
    assert stopping.worse == 1
    assert stopping.record(2.5, 30)
    assert stopping.state() == {"best_loss": 2.5, "best_step": 30, "worse": 0}


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
    longer.restore(stopping.state())
    assert stopping.is_exhausted and not longer.is_exhausted
    longer.record(1.0, 1)
    assert longer.is_exhausted


def test_a_lowest_loss_that_is_nan_is_forgotten():
    stopping = EarlyStopping(patience=2)
    stopping.restore({"best_loss": float("nan"), "best_step": 1, "worse": 2})
    assert not stopping.is_exhausted and stopping.record(5.0, 2)
