"""Calls in forked processes."""

import os
import signal

import pytest

from t2t_keras.reproduction.forked import call_in_fork

# What Python and JAX say about forks of a process with threads. These children use none.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork")


def test_the_result_comes_from_a_different_process():
    process, text = call_in_fork(lambda text: (os.getpid(), text), "text")
    assert process != os.getpid() and text == "text"


def test_an_exception_is_reported_with_its_type():
    with pytest.raises(RuntimeError, match=r"ValueError: invalid literal for int\(\)"):
        call_in_fork(int, "x")


def test_the_death_of_the_process_is_reported():
    with pytest.raises(RuntimeError, match="the process ended with code -9"):
        call_in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL))
