"""The folder of compiled programs."""

from t2t_keras.training.hardware.program_cache import cache_folder


def test_compilers_devices_and_flags_have_their_own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = cache_folder("tensorflow-1", "H100")
    assert first == cache_folder("tensorflow-1", "H100") and first.is_dir()
    others = [cache_folder("tensorflow-2", "H100"), cache_folder("tensorflow-1", "A100")]
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=0")
    others.append(cache_folder("tensorflow-1", "H100"))
    assert len({first, *others}) == 4


def test_a_folder_that_cannot_be_written_is_not_used(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder("tensorflow-1") is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder("tensorflow-1").is_relative_to(tmp_path / "home" / ".cache")
