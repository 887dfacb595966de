"""Settings of TensorFlow for GPUs, with GPUs that the tests invent."""

import os

import pytest
import tensorflow as tf

from t2t_keras.training.hardware import devices
from t2t_keras.training.hardware.devices import (
    choose_xla,
    keep_programs,
    prepare_devices,
    xla_failure,
)

CACHE = "--tf_xla_persistent_cache_directory"


@pytest.fixture
def gpus(monkeypatch, tmp_path):
    """Two GPUs, and a folder for the cache. XLA is not asked."""
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [f"{kind}:0", f"{kind}:1"])
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [f"{kind}:0", f"{kind}:1"])
    monkeypatch.setattr(devices, "gpu_names", lambda: ["GPU"])
    monkeypatch.setattr(devices, "xla_failure", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a folder"))
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    keep_programs.cache_clear()
    yield tmp_path / "a folder" / "t2t_keras" / "xla"
    keep_programs.cache_clear()


def test_memory_grows_on_every_gpu_unless_the_user_decided(gpus, monkeypatch):
    growing = []

    def grow(*arguments):
        growing.append(arguments)
        raise RuntimeError("Physical devices cannot be modified after being initialized")

    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", grow)
    prepare_devices()
    assert growing == [("GPU:0", True), ("GPU:1", True)]
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false")
    prepare_devices()
    assert len(growing) == 2


def test_products_are_exact_except_where_tf32_is_allowed():
    enabled = tf.config.experimental.tensor_float_32_execution_enabled
    prepare_devices()
    with pytest.raises(OSError), devices.tf32(True):
        assert enabled()
        with devices.tf32(False):
            assert not enabled()
        assert enabled()
        raise OSError
    assert not enabled()


def test_xla_that_cannot_compile_is_not_used(gpus, monkeypatch):
    shown = []
    monkeypatch.setattr(devices, "xla_failure", lambda: "No PTX compilation provider")
    monkeypatch.setattr(
        devices.logging, "log_first_n", lambda level, text, n, *a: shown.append(text % a)
    )
    assert choose_xla(False) is False and choose_xla("auto") is False
    assert shown[-1].startswith("XLA is off: it cannot compile for the GPU (No PTX")
    message = r"cannot compile for the GPU \(No PTX compilation provider\)\. .*ptxas"
    with pytest.raises(ValueError, match=message):
        choose_xla(True)


def test_the_probe_compiles_a_program_and_reports_what_xla_says(monkeypatch):
    monkeypatch.setattr(tf, "device", lambda name: tf.init_scope())  # there is no GPU
    probe = xla_failure.__wrapped__
    assert probe() is None
    monkeypatch.setattr(tf, "tanh", lambda x: tf.numpy_function(lambda y: y, [x], tf.float32))
    assert "PyFunc" in probe() and "\n" not in probe()


def test_xla_keeps_its_programs_in_a_folder_of_the_user(gpus):
    assert choose_xla("auto") is True
    flag, folder = os.environ["TF_XLA_FLAGS"].split("=", 1)
    assert flag == CACHE and folder.startswith(f"'{gpus}/tensorflow-{tf.__version__}-")
    (made,) = gpus.iterdir()
    assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("flags", "result"),
    [
        (f"{CACHE}=/mine", f"{CACHE}=/mine"),
        ("/a/file/of/flags", "/a/file/of/flags"),
        ("--tf_xla_auto_jit=2", f"--tf_xla_auto_jit=2 {CACHE}="),
    ],
)
def test_flags_of_the_user_take_precedence(gpus, monkeypatch, flags, result):
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    choose_xla(True)
    assert os.environ["TF_XLA_FLAGS"].startswith(result)
    assert gpus.exists() == result.endswith("=")


def test_without_a_gpu_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    assert choose_xla("auto") is False and choose_xla(True) is True
    assert "TF_XLA_FLAGS" not in os.environ
