import gc

import pytest


@pytest.fixture(scope="session")
def backwards_model(backwards_export):
    """The model in `backwards_export`, loaded in this process."""
    from t2t_keras.serving.models import ServedSavedModel  # needs TensorFlow

    return ServedSavedModel(backwards_export / "1")


@pytest.fixture(scope="module", autouse=True)
def quick_collection():
    """Spares the garbage collection after an unloaded version all older objects."""
    gc.freeze()
    yield
    gc.unfreeze()
