"""config.json says on which hardware a run is trained, and from which step on."""

from types import SimpleNamespace

import pytest

from pipelines.atomic_files import read_json
from t2t_keras.runs.training import hardware_record
from t2t_keras.runs.training.hardware_record import HardwareRecord


@pytest.fixture
def start(copied, monkeypatch):
    """A function that starts training at a step on a machine; returns what config.json records."""

    def start(step, processor):
        found = {"processor": processor, "cores": 2, "memory_gib": 24}
        found |= {"accelerators": [], "machines": 1}
        monkeypatch.setattr(hardware_record, "this_hardware", lambda *_: found)
        record = HardwareRecord(copied)
        iterations = SimpleNamespace(numpy=lambda: step)
        optimizer = SimpleNamespace(iterations=iterations)
        record.set_model(SimpleNamespace(optimizer=optimizer))
        record.on_train_begin()
        hardware = read_json(copied.config_file)["hardware"]
        return [(each["from_step"], each["processor"]) for each in hardware]

    return start


def test_a_run_lists_the_machines_it_was_trained_on(copied, start):
    before = read_json(copied.config_file)
    assert start(0, "A") == [(0, "A")]
    assert start(0, "B") == [(0, "B")], "A was killed before its first checkpoint"
    assert start(400, "B") == [(0, "B")], "resumed on the same machine"
    assert start(800, "C") == [(0, "B"), (800, "C")]
    assert start(900, "B") == [(0, "B"), (800, "C"), (900, "B")]
    assert start(850, "C") == [(0, "B"), (800, "C")], "the newest checkpoint was damaged"
    after = read_json(copied.config_file)
    assert {name: after[name] for name in after if name != "hardware"} == before
    page = copied.report().read_text()
    assert "2 cores of B, 24 GiB" in page and "from step 801 on: 2 cores of C" in page


def test_nothing_is_written_if_nothing_is_new(copied, start):
    start(0, "A")
    before = copied.config_file.stat()
    start(400, "A")
    assert copied.config_file.stat() == before
