import fcntl
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from pathlib import Path

# Fast compilation matters more here than fast code. Must be set before a backend is imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

# TensorFlow logs notes at level ERROR, at any time. A test that fails raises an error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest
from support.processes.commands import SMALL_CORPUS, TINY_RUN, command, fork_server

from pipelines.toy.grammar import pairs

MAKERS = ("t2t_keras", "pipelines", "configs", "tests/support")
KEPT = 4  # states of the code whose folders are kept


def pytest_configure(config):
    """Prepares the backend where tests run: in each worker of xdist, but not in its controller."""
    # Without bytecode, each process that tests start would compile the package again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        import keras

        if keras.config.backend() == "tensorflow":
            import tensorflow as tf

            fork_server()  # before TensorFlow starts threads and has two devices
            # Two logical devices for the tests of strategies. Must be set before it is used.
            tf.config.set_logical_device_configuration(
                tf.config.list_physical_devices("CPU")[0],
                [tf.config.LogicalDeviceConfiguration()] * 2,
            )


@pytest.fixture(scope="session")
def replicas():
    """A strategy with two replicas. Two such strategies in one process mix up their exchanges."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(autouse=True)
def same_start():
    """Starts every test from the same random state."""
    import keras

    keras.utils.set_random_seed(0)


@pytest.fixture(scope="session")
def shared():
    """A function that makes a folder once for all test processes and later test runs.

    It takes a name and a function of the folder, and returns that function's result. Folders are
    kept until the code changes.
    """
    base = Path(tempfile.gettempdir()) / f"t2t_keras_tests_{os.getuid()}" / code_digest()
    base.mkdir(parents=True, exist_ok=True)

    def made_once(name, make):
        folder, result = base / name, base / f"{name}.pickle"
        with open(base / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not result.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a test run that was killed
                folder.mkdir()
                unfinished = base / f"{name}.unfinished"
                unfinished.write_bytes(pickle.dumps(make(folder)))
                unfinished.rename(result)
        return pickle.loads(result.read_bytes())

    for folder in sorted(base.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
    return made_once


def code_digest():
    """Returns a digest of the code that makes the folders of `shared`."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    paths = [path for name in MAKERS for path in sorted((root / name).rglob("*.py"))]
    for path in [*paths, Path(__file__)]:
        digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory):
    """A folder with small texts of the toy grammar."""
    folder = tmp_path_factory.mktemp("toy_corpus")
    texts = pairs(1200)
    (folder / "train.en").write_text("".join(f"{english}\n" for english, _ in texts))
    (folder / "train.de").write_text("".join(f"{german}\n" for _, german in texts))
    (folder / "train.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in texts))
    (folder / "short.de").write_text("Ein Satz.\n")
    (folder / "trees").write_text("(S (NP (NN a)) (VP (VB b)))\n" * 200)
    return folder


@pytest.fixture(scope="session")
def toy_data(toy_corpus):
    """The result of t2t-prepare on the small texts, and its output folder."""
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    folder = toy_corpus / "data"
    return command("prepare", *files, f"--output={folder}", *SMALL_CORPUS), folder


@pytest.fixture(scope="session")
def toy_run(shared):
    """The result of t2t-train with a tiny model, and its run's folder. Tests change copies only."""

    def train(folder):
        return trained_toy_run(folder / "toy", "--noexport")

    return shared("toy_run", train)


@pytest.fixture(scope="session")
def exported_toy_run(shared):
    """`toy_run` with an export, which takes longer than the training."""

    def train(folder):
        return trained_toy_run(folder / "exported" / "toy")

    return shared("exported_toy_run", train)


def trained_toy_run(run, *flags):
    return command("train", f"--run={run}", "--config.training.steps=4", *TINY_RUN, *flags), run


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    """The folder of a vocabulary of 400 pieces."""
    from support.runs.untrained import toy_tokenizer  # needs TensorFlow

    folder = tmp_path_factory.mktemp("vocabulary")
    toy_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def new_run(vocabulary):
    """A function that creates an untrained run in a folder."""
    from support.runs.untrained import toy_tokenizer, untrained_run

    def create(folder, **settings):
        return untrained_run(folder, vocabulary, toy_tokenizer(vocabulary), **settings)

    return create


@pytest.fixture(scope="session")
def run(new_run, tmp_path_factory):
    """An untrained run, which no test changes. Its translators are kept from test to test."""
    return new_run(tmp_path_factory.mktemp("runs") / "toy", end=4.0)


@pytest.fixture(scope="session")
def sharp_run(shared):
    """An untrained run that is sure of most tokens, which no test changes."""
    from support.runs.sharp_run import write_sharp_run

    from t2t_keras.runs import Run

    return Run(shared("sharp_run", write_sharp_run))


@pytest.fixture(scope="session")
def exported(sharp_run, shared):
    """A function that returns the folder of `sharp_run`'s export in a format.

    It exports once. Tests change copies only.
    """

    def export(format, dtype="float32"):
        def write(folder):
            return sharp_run.export(folder / "export", format, dtype=dtype)

        return shared(f"sharp_{format}_{dtype}", write)

    return export


@pytest.fixture(scope="session")
def learned_positions(new_run, tmp_path_factory):
    """An untrained run with learned positions for 40 tokens, which no test changes."""
    return new_run(tmp_path_factory.mktemp("runs") / "learned", positions="learned", max_length=40)


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window. Tests that need it are skipped if it is missing."""
    from selenium import webdriver
    from support.serving.browsers import set_display

    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver (apt-get install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        set_display(driver, 1000, 900, "light")
        yield driver
    finally:
        driver.quit()
