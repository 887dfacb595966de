import keras
import pytest

from t2t_keras import TransformerSchedule


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
