from types import SimpleNamespace

import pytest

from t2t_keras.training.hardware import training_cost
from t2t_keras.training.hardware.training_cost import TrainingCost


@pytest.fixture
def clock(monkeypatch):
    """A clock whose time, `now`, the test sets."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(training_cost, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_pauses_are_not_counted(clock):
    cost = TrainingCost(rate=10.0)
    cost.start()
    clock.now += 2
    with cost.paused():
        clock.now += 1000
    clock.now += 3
    cost.stop()
    assert cost.state() == {"seconds": 5.0, "flops": 50.0}


def test_each_process_adds_its_seconds_at_its_own_rate(clock):
    cost = TrainingCost(rate=1000.0)
    cost.restore({"seconds": 5.0, "flops": 50.0})
    cost.start()
    clock.now += 2
    cost.stop()
    assert cost.state() == {"seconds": 7.0, "flops": 2050.0}
