"""Weight types of the export formats, importable without TensorFlow."""

SAVED_MODEL_DTYPES = ("float32", "bfloat16", "int8")
CTRANSLATE2_DTYPES = ("float32", "bfloat16", "float16", "int8")
LITERT_DTYPES = ("float32", "int8")
