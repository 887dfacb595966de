import keras
import pytest

from t2t_keras import TransformerSchedule
from t2t_keras.schedules import PeakSchedule, rate_of_last_update


@pytest.mark.jax
def test_the_rate_equals_the_formula_with_steps_counted_from_one():
    for d_model in (512, 1024):
        for step in (1, 100, 3999, 4000, 4001, 100_000):
            expected = d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)
            rate = TransformerSchedule(d_model)(step - 1)
            assert float(rate) == pytest.approx(expected, rel=1e-6)


def test_the_rate_of_the_last_update_is_that_of_its_step():
    optimizer = keras.optimizers.SGD(PeakSchedule(1.0, warmup_steps=4))
    weight = keras.Variable([1.0])
    optimizer.build([weight])
    assert rate_of_last_update(optimizer) == 0.25
    for rate in (0.25, 0.5):
        before = float(weight[0])
        optimizer.apply([keras.ops.array([1.0])])
        assert rate_of_last_update(optimizer) == before - float(weight[0]) == rate
    assert rate_of_last_update(keras.optimizers.SGD(0.5)) == 0.5


def test_decays_of_a_peak_schedule():
    paper = TransformerSchedule(512, warmup_steps=400)
    ours = PeakSchedule(peak=512**-0.5 * 400**-0.5, warmup_steps=400)
    for step in (0, 100, 399, 400, 5000):
        assert float(ours(step)) == pytest.approx(float(paper(step)), rel=1e-5)
    constant = PeakSchedule(peak=1e-4, warmup_steps=10, decay="constant")
    rates = [float(constant(step)) for step in (0, 4, 9, 10, 10_000)]
    assert rates == pytest.approx([1e-5, 5e-5, 1e-4, 1e-4, 1e-4])
    linear = PeakSchedule(peak=1.0, warmup_steps=10, decay="linear", steps=29)
    rates = [float(linear(step)) for step in (4, 9, 19, 28, 29, 40)]
    assert rates == pytest.approx([0.5, 1, 0.5, 0.05, 0, 0])


@pytest.mark.parametrize(
    ("schedule", "step", "rate"),
    [
        (TransformerSchedule(512, warmup_steps=100, scale=2.0), 99, 2 * 512**-0.5 * 100**-0.5),
        (PeakSchedule(1e-4, warmup_steps=10, decay="linear", steps=69), 39, 0.5e-4),
    ],
)
def test_an_optimizer_is_saved_with_its_schedule(schedule, step, rate):
    twin = keras.optimizers.deserialize(keras.optimizers.serialize(keras.optimizers.Adam(schedule)))
    assert float(twin._learning_rate(step)) == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize("schedule", [TransformerSchedule, PeakSchedule])
def test_wrong_settings_are_refused(schedule):
    with pytest.raises(ValueError, match="`warmup_steps` must be"):
        schedule(512, warmup_steps=0)
