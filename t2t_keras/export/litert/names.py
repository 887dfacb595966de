"""Names of files in exports for LiteRT, importable without TensorFlow."""

MODEL, RECORD = "model.tflite", "litert.json"
PORTABLE, PORTABLE_RECORD = "portable.tflite", "portable.json"
