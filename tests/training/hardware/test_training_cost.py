from types import SimpleNamespace

from t2t_keras.training.hardware import training_cost
from t2t_keras.training.hardware.training_cost import TrainingCost


def test_pauses_are_not_counted_and_each_process_has_its_own_rate(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(training_cost, "time", SimpleNamespace(monotonic=lambda: clock.now))
    cost = TrainingCost(rate=10.0)
    cost.restore({"seconds": 5.0, "flops": 5000.0})
    cost.start()
    clock.now += 2
    with cost.paused():
        clock.now += 1000
    clock.now += 3
    assert cost.seconds_so_far() == 10.0
    cost.stop()
    assert cost.state() == {"seconds": 10.0, "flops": 5050.0}
