import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_collection():
    """Spares the garbage collection after an unloaded version all older objects."""
    gc.freeze()
    yield
    gc.unfreeze()
