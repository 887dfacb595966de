import keras
import pytest
from commands import SMALL_CORPUS, TINY_RUN, command

from pipelines.toy_grammar import pairs

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


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory):
    """A folder with small texts of the toy grammar."""
    folder = tmp_path_factory.mktemp("toy_corpus")
    made = pairs(1200)
    (folder / "train.en").write_text("".join(f"{english}\n" for english, _ in made))
    (folder / "train.de").write_text("".join(f"{german}\n" for _, german in made))
    (folder / "train.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in made))
    (folder / "short.de").write_text("Ein Satz.\n")
    (folder / "trees").write_text("(S (NP (NN a)) (VP (VB b)))\n" * 200)
    return folder


@pytest.fixture(scope="session")
def toy_data(toy_corpus):
    """What t2t-prepare said, and the folder that it made of them."""
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    folder = toy_corpus / "data"
    return command("prepare", *files, f"--output={folder}", *SMALL_CORPUS), folder


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory):
    """What t2t-train said, and the folder of its run."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    return command("train", f"--run={folder}", "--config.training.steps=4", *TINY_RUN), folder


@pytest.fixture(scope="session")
def backwards_export(tmp_path_factory):
    """The export folder of a run named "backwards", with version 1."""
    from served_model import write_version  # needs TensorFlow, which the tests on JAX do without

    folder = tmp_path_factory.mktemp("runs") / "backwards" / "export"
    folder.mkdir(parents=True)
    write_version(folder, 1)
    return folder
