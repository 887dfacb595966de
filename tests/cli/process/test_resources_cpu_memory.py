import os

import pytest

from t2t_keras.cli.process.resources import keep_cpu_memory

ALLOCATOR, LIMIT = "TF_CPU_ALLOCATOR_USE_BFC", "TF_CPU_BFC_MEM_LIMIT_IN_MB"


@pytest.mark.parametrize(("gigabytes", "limit"), [(16, 64), (512, 512)])
def test_training_keeps_its_memory_up_to_that_of_the_machine(monkeypatch, gigabytes, limit):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gigabytes * 2**18}
    monkeypatch.setattr(os, "sysconf", sizes.get)
    for name in (ALLOCATOR, LIMIT):
        monkeypatch.setenv(name, "")  # so that it is absent again after the test
        monkeypatch.delenv(name)
    keep_cpu_memory()
    assert (os.environ[ALLOCATOR], os.environ[LIMIT]) == ("true", str(limit * 1024))


def test_variables_set_by_the_user_are_respected(monkeypatch):
    monkeypatch.setenv(ALLOCATOR, "false")
    monkeypatch.setenv(LIMIT, "1000")
    keep_cpu_memory()
    assert (os.environ[ALLOCATOR], os.environ[LIMIT]) == ("false", "1000")
