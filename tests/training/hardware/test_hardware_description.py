"""The description of the hardware names what the system reports."""

import os

from t2t_keras.training.hardware.hardware_description import hardware_text, this_hardware

NONE = {"accelerators": [], "machines": 1, "cores": 2, "memory_gib": 24, "processor": "X"}


def test_this_machine_is_described():
    found = this_hardware(replicas=4, machines=2)
    assert found["cores"] == len(os.sched_getaffinity(0)) and found["processor"].strip()
    assert found["memory_gib"] > 0 and (found["replicas"], found["machines"]) == (4, 2)


def test_equal_accelerators_are_counted():
    assert hardware_text(NONE) == "2 cores of X, 24 GiB"
    assert hardware_text(NONE | {"cores": 1}) == "1 core of X, 24 GiB"
    gpus = NONE | {"accelerators": ["H100", "H100", "H200"]}
    assert hardware_text(gpus) == "2 × H100, 1 × H200, 2 cores of X, 24 GiB"
    assert hardware_text(gpus | {"machines": 3}).startswith("3 machines, the first with 2 × H100")
