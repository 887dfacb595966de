"""The limits of a server are checked before it starts."""

import dataclasses

import pytest

from t2t_keras.serving.limits import Limits


def test_each_limit_has_a_least_value():
    Limits(batch_wait_ms=0).validate()
    for field in dataclasses.fields(Limits):
        least = {"batch_wait_ms": 0, "max_rows_in_flight": 2}.get(field.name, 1)
        Limits(**{field.name: least}).validate()
        with pytest.raises(ValueError, match=f"`{field.name}` must be a"):
            Limits(**{field.name: least - 1}).validate()
    assert Limits(max_rows_in_flight=9).rows == 4
