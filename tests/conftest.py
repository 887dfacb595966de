import keras
import pytest

if keras.config.backend() == "tensorflow":
    import tensorflow as tf

    # Two devices of one processor, for the tests of strategies; it must be said before first use.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )


@pytest.fixture(scope="session")
def replicas():
    """Two replicas. One strategy for all tests: two of them in a process mix up their exchanges."""
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(autouse=True)
def same_start():
    """Every test begins from the same random state."""
    keras.utils.set_random_seed(0)
