"""Commands that run out of memory or of space on a disk."""

import errno
import os

import keras
import pytest
from support.processes.commands import SMALL_CORPUS, TINY_RUN, command
from support.processes.in_process import ended

from pipelines.exit_codes import NO_SPACE
from t2t_keras.cli.process.resources import keep_cpu_memory, memory_advice, message_of
from t2t_keras.experiment import Experiment

if keras.config.backend() == "tensorflow":
    import tensorflow as tf
ALLOCATOR, LIMIT = "TF_CPU_ALLOCATOR_USE_BFC", "TF_CPU_BFC_MEM_LIMIT_IN_MB"


def exhausted(text):
    return tf.errors.ResourceExhaustedError(None, None, text)


@pytest.mark.parametrize(
    ("make_error", "expected"),
    [
        (
            lambda: exhausted("OOM when allocating tensor with shape[4,9] and type float on CPU"),
            r"^There is not enough memory \(for a tensor with shape\[4,9\] and type float\)\. Do",
        ),
        (
            lambda: MemoryError("Unable to allocate 3.20 GiB for an array"),
            r"memory \(for a 3\.20 GiB\)\. Do less",
        ),
        (lambda: MemoryError(), r"^There is not enough memory\. Do less$"),
        (lambda: RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 64 bytes."), "Do less"),
    ],
)
def test_an_error_about_memory_becomes_one_line_with_advice(make_error, expected):
    with pytest.raises(ValueError, match=expected), memory_advice("Do less"):
        raise make_error()


def test_other_errors_stay_as_they_are():
    full = exhausted("x; No space left on device")
    for error in (ValueError("out of memory"), KeyError("x"), full):
        with pytest.raises(type(error)) as raised, memory_advice("Do less"):
            raise error
        assert raised.value is error


def test_a_model_too_large_for_the_memory_ends_with_advice_and_no_folder(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise exhausted("OOM when allocating tensor with shape[4096,8192] and type float on CPU")

    monkeypatch.setattr(Experiment, "compiled_model", fail)
    result = ended("train", *TINY_RUN, f"--run={tmp_path}/run")
    assert result.returncode == 2 and "Traceback" not in result.stderr, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("train.py: There is not enough memory (for a tensor with shape[")
    assert "training.accumulate" in last and "data.batches.tokens" in last
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_line_with_the_file_and_advice(toy_corpus, tmp_path):
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    arguments = ["prepare", *files, f"--output={tmp_path}/data", *SMALL_CORPUS]
    result = command(*arguments, file_size=10_000)
    assert result.returncode == NO_SPACE
    expected = f"{tmp_path}/data/cleaned could not be written: File too large. Make room"
    assert result.stderr.splitlines()[-1].startswith(f"prepare.py: {expected}")
    assert not list(tmp_path.iterdir())


def test_the_message_about_a_full_disk_needs_no_name():
    error = OSError(errno.ENOSPC, "No space left on device")
    assert message_of(error).startswith("The output could not be written: No space left")
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "x")
    assert message_of(error) == "x: No such file or directory"


@pytest.mark.parametrize(("gigabytes", "limit"), [(16, 64), (512, 512)])
def test_training_keeps_its_memory_up_to_that_of_the_machine(monkeypatch, gigabytes, limit):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gigabytes * 2**18}
    monkeypatch.setattr(os, "sysconf", sizes.get)
    for name in (ALLOCATOR, LIMIT):
        monkeypatch.setenv(name, "")  # so that it is absent again after the test
        monkeypatch.delenv(name)
    keep_cpu_memory()
    assert (os.environ[ALLOCATOR], os.environ[LIMIT]) == ("true", str(limit * 1024))
    monkeypatch.setenv(ALLOCATOR, "false")  # by the user
    keep_cpu_memory()
    assert os.environ[ALLOCATOR] == "false"
