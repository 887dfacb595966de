import os

from t2t_keras.export.ctranslate2_package import cores


def test_all_cores_are_used_where_the_system_cannot_restrict_them(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # macOS has none
    assert cores() == os.cpu_count()
