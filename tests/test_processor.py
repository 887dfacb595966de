"""The processor is named as the system reports it."""

import os

import pytest

from t2t_keras import processor


@pytest.mark.parametrize(
    ("contents", "name"),
    [("processor : 0\nmodel name\t: An EPYC 9\nmodel name\t: B\n", "An EPYC 9"), ("", "armv9")],
)
def test_a_processor_without_a_name_is_named_after_its_architecture(monkeypatch, contents, name):
    monkeypatch.setattr(processor.platform, "system", lambda: "Linux")
    monkeypatch.setattr(processor.platform, "processor", lambda: "")
    monkeypatch.setattr(processor.platform, "machine", lambda: "armv9")
    monkeypatch.setattr(processor.Path, "read_text", lambda *_, **__: contents)
    assert processor.processor_name() == name
    for count, text in ((1, "1 core, "), (2, "2 cores, ")):
        monkeypatch.setattr(processor, "cores", lambda count=count: count)
        assert processor.processor_text() == f"{text}{name}"


def test_all_cores_are_used_where_the_system_cannot_restrict_them(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # macOS has none
    assert processor.cores() == os.cpu_count()
