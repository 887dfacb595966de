import keras
import pytest


@pytest.fixture(autouse=True)
def same_start():
    """Every test begins from the same random state."""
    keras.utils.set_random_seed(0)
