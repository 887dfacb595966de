import keras
import pytest

from t2t_keras import TransformerSchedule
from t2t_keras.schedules import PeakSchedule, rate_of_last_update


@pytest.mark.jax
@pytest.mark.parametrize("d_model", [512, 1024])
@pytest.mark.parametrize("step", [1, 100, 3999, 4000, 4001, 100_000])
def test_the_rate_equals_the_formula_with_steps_counted_from_one(d_model, step):
    expected = d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert float(TransformerSchedule(d_model)(step - 1)) == pytest.approx(expected, rel=1e-6)


def test_the_optimizer_starts_with_step_one():
    optimizer = keras.optimizers.Adam(TransformerSchedule(512, warmup_steps=10))
    optimizer.build([keras.Variable([1.0])])
    assert float(optimizer.learning_rate) == pytest.approx(512**-0.5 * 10**-1.5)
    optimizer.apply([keras.ops.array([1.0])])
    assert float(optimizer.learning_rate) == pytest.approx(512**-0.5 * 2 * 10**-1.5)


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


def test_serialization_and_scale():
    schedule = TransformerSchedule(512, warmup_steps=100, scale=2.0)
    optimizer = keras.optimizers.Adam(schedule)
    twin = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    expected = 2 * 512**-0.5 * 100**-0.5
    assert float(twin._learning_rate(99)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "settings", [{"d_model": 0}, {"warmup_steps": 0}, {"warmup_steps": 1.5}, {"scale": -1}]
)
def test_wrong_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        TransformerSchedule(**{"d_model": 512, **settings})


def test_a_peak_schedule_with_decay_is_the_papers_curve():
    paper = TransformerSchedule(512, warmup_steps=400)
    ours = PeakSchedule(peak=512**-0.5 * 400**-0.5, warmup_steps=400)
    for step in (0, 100, 399, 400, 5000):
        assert float(ours(step)) == pytest.approx(float(paper(step)), rel=1e-5)


def test_a_constant_schedule_stays_at_its_peak():
    schedule = PeakSchedule(peak=1e-4, warmup_steps=10, decay="constant")
    rates = [float(schedule(step)) for step in (0, 4, 9, 10, 10_000)]
    assert rates == pytest.approx([1e-5, 5e-5, 1e-4, 1e-4, 1e-4])
    optimizer = keras.optimizers.Adam(schedule)
    twin = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert float(twin._learning_rate(4)) == pytest.approx(5e-5)


@pytest.mark.parametrize("settings", [{"peak": 0}, {"warmup_steps": 0}, {"decay": 1}])
def test_wrong_settings_of_a_peak_schedule_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        PeakSchedule(**{"peak": 1e-4, "warmup_steps": 10, **settings})
