"""The folder in which XLA keeps compiled programs, and the settings of JAX.

With the folder, later processes start faster. It is $XDG_CACHE_HOME/t2t_keras/xla, or
~/.cache/t2t_keras/xla, and may be deleted between runs.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from absl import logging

PRECISION = "jax_default_matmul_precision"  # option of JAX: the precision of matrix products
FOLDER = "jax_compilation_cache_dir"  # option of JAX: the folder of compiled programs


def cache_folder(version, *devices):
    """Returns the folder for a compiler, such as "tensorflow-2.21.0", and devices, or None."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    compiler = "\n".join([*devices, os.environ.get("XLA_FLAGS", "")])
    digest = hashlib.sha256(compiler.encode()).hexdigest()[:12]
    folder = Path(base, "t2t_keras", "xla", f"{version}-{digest}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:  # XLA would fail when it writes the first program
        logging.info("XLA keeps no compiled programs: %s", error)
        return None
    return folder


def prepare_jax(tf32=False):
    """Sets the rounding of float32 products (to TF32 if `tf32`), and keeps compiled programs.

    JAX's own default rounds them to TF32 on GPUs and to bfloat16 on TPUs. The environment variables
    JAX_DEFAULT_MATMUL_PRECISION and JAX_COMPILATION_CACHE_DIR take precedence.
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
