"""The limits of a server are checked before it starts."""

import dataclasses

import pytest

from t2t_keras.serving.limits import Limits


def test_the_defaults_are_valid():
    Limits().validate()


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_no_limit_may_be_negative(name):
    with pytest.raises(ValueError, match=f"`{name}` must be a"):
        Limits(**{name: -1}).validate()
