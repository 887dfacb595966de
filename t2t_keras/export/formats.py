"""The export formats: weight types, files, numbered folders. Importable without TensorFlow."""

ENGINES = ("auto", "litert", "tensorflow", "ctranslate2")  # choices of --engine
SAVED_MODEL_DTYPES = ("float32", "bfloat16", "int8")
CTRANSLATE2_DTYPES = ("float32", "bfloat16", "float16", "int8")
LITERT_DTYPES = ("float32", "int8")

LITERT_MODEL, LITERT_RECORD = "model.tflite", "litert.json"
PORTABLE_MODEL, PORTABLE_RECORD = "portable.tflite", "portable.json"


def versions_in(folder):
    """Returns {version: path} of the numbered subfolders, one for each version of an export."""
    if not folder.is_dir():
        return {}
    return {
        int(path.name): path
        for path in folder.iterdir()
        if path.name.isascii() and path.name.isdecimal() and path.is_dir()
    }
