"""CTranslate2 with the weights of one of our models, in float32 and in int8."""

import tempfile
from pathlib import Path

BASELINE = "CTranslate2 float32"
SYSTEMS = {BASELINE: "float32", "CTranslate2 int8": "int8"}


def engines(save):
    """Returns {system: `ctranslate2.Translator`}, with as many threads as TensorFlow has.

    Args:
        save: function of a path, which writes a model for CTranslate2 there.
    """
    from t2t_keras.export.ctranslate2_package import import_ctranslate2
    from t2t_keras.processor import cores

    ctranslate2 = import_ctranslate2("--beside=ctranslate2")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        folder = save(folder) or folder
        return {
            system: ctranslate2.Translator(
                str(folder), device="cpu", compute_type=dtype, intra_threads=cores()
            )
            for system, dtype in SYSTEMS.items()
        }


def check_comparable():
    """Raises `ValueError` unless CTranslate2 is installed and TensorFlow computes on the CPU."""
    import tensorflow as tf

    from t2t_keras.export.ctranslate2_package import import_ctranslate2

    import_ctranslate2("--beside=ctranslate2")
    if tf.config.list_logical_devices("GPU"):
        raise ValueError(
            "--beside=ctranslate2 compares both on the CPU, but TensorFlow sees a GPU. Hide it: "
            "CUDA_VISIBLE_DEVICES=-1 t2t-benchmark decode …"
        )


def print_note(settings=""):
    """Prints the version, the number of threads, and the meaning of the ratios.

    Args:
        settings: settings of the search, as text.
    """
    import ctranslate2

    from t2t_keras.processor import cores

    print(f"CTranslate2 {ctranslate2.__version__}, intra_threads={cores()}{settings}")
    print(f"In brackets: speed relative to {BASELINE}", flush=True)
