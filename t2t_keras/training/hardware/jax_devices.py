"""Settings of JAX for GPUs and TPUs. `devices.py` has those of TensorFlow."""

import os

from absl import logging

from t2t_keras.training.hardware.program_cache import cache_folder

PRECISION = "jax_default_matmul_precision"
FOLDER = "jax_compilation_cache_dir"


def prepare_jax(tf32=False):
    """Sets the rounding of float32 products, and keeps compiled programs, on GPUs and TPUs.

    JAX's own default rounds them to TF32 on GPUs and to bfloat16 on TPUs. The environment
    variables JAX_DEFAULT_MATMUL_PRECISION and JAX_COMPILATION_CACHE_DIR take precedence.

    Args:
        tf32: whether float32 products may be rounded to TF32.
    """
    import jax

    if jax.default_backend() == "cpu":
        return
    if PRECISION.upper() not in os.environ:
        jax.config.update(PRECISION, "tensorfloat32" if tf32 else "float32")
    if getattr(jax.config, FOLDER) is None:
        folder = cache_folder(f"jax-{jax.__version__}", jax.devices()[0].device_kind)
        if folder:
            jax.config.update(FOLDER, str(folder))
            logging.info("XLA keeps compiled programs in %s", folder)
