"""Calls in child processes."""

import os
import signal

import pytest
import tensorflow as tf

from t2t_keras.reproduction.child_process import call_in_child, start_method

# Python and JAX warn about forks of a process with threads. These children use none of them.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork")


def test_the_result_or_the_exception_comes_from_a_different_process():
    assert call_in_child(os.getpid) != os.getpid()
    with pytest.raises(ValueError, match=r"invalid literal for int\(\)"):
        call_in_child(int, "x")


@pytest.mark.long
def test_a_child_on_a_gpu_is_the_fork_of_a_clean_process(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    assert start_method() == "forkserver"
    assert call_in_child(os.getppid) != os.getpid()


def test_the_death_of_the_process_is_reported():
    with pytest.raises(RuntimeError, match="terminated abruptly"):
        call_in_child(signal.raise_signal, signal.SIGKILL)
