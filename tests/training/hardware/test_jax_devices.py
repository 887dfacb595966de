"""Settings of JAX for GPUs, with a GPU that the tests invent."""

import keras
import pytest

from t2t_keras.training.hardware.program_cache import FOLDER, PRECISION, prepare_jax

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(keras.config.backend() != "jax", reason="settings of JAX"),
]


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """A function that returns the settings after `prepare_jax` on a GPU."""
    import jax

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = {name: getattr(jax.config, name) for name in (PRECISION, FOLDER)}

    def prepared(**options):
        with monkeypatch.context() as patch:
            patch.setattr(jax, "default_backend", lambda: "gpu")
            prepare_jax(**options)
        return [getattr(jax.config, name) for name in before]

    yield prepared
    for name, value in before.items():
        jax.config.update(name, value)


def test_products_are_exact_and_programs_are_kept(settings, tmp_path):
    import jax

    before = getattr(jax.config, PRECISION), getattr(jax.config, FOLDER)
    prepare_jax(tf32=True)
    assert (getattr(jax.config, PRECISION), getattr(jax.config, FOLDER)) == before, "on CPUs"
    precision, folder = settings()
    assert precision == "float32" and folder.startswith(f"{tmp_path}/t2t_keras/xla/jax-")
    assert settings(tf32=True) == ["tensorfloat32", folder]


def test_settings_of_the_user_take_precedence(settings, monkeypatch):
    import jax

    monkeypatch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "bfloat16")
    jax.config.update(PRECISION, "bfloat16")
    jax.config.update(FOLDER, "/mine")
    assert settings() == ["bfloat16", "/mine"]
