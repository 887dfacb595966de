"""The export formats, as a table. Importable without TensorFlow."""

import importlib
from typing import NamedTuple

from t2t_keras.decoding.search_config import settings_in

ENGINES = ("auto", "litert", "tensorflow", "ctranslate2")  # choices of --engine
SAVED_MODEL_DTYPES = ("float32", "bfloat16", "int8")
CTRANSLATE2_DTYPES = ("float32", "bfloat16", "float16", "int8")
LITERT_DTYPES = ("float32", "int8")
LITERT_MODEL, PORTABLE_MODEL = "model.tflite", "portable.tflite"

STEPS = 8  # successive tokens for which LiteRT's program "steps" computes a step each
# Settings fixed in an export.
SEARCH = ("method", "beam", "alpha", "penalty", "stopping", "extra_length")
CONSTRAINTS = settings_in("constraint")  # further ones, which CTranslate2 lacks
RECORDED = ("to", "languages", "n_best")


class ExportFormat(NamedTuple):
    """A format in which t2t-export writes a run's model.

    The writer of numbered versions is described in `runs.exports.writers`. Other writers take the
    arguments of `exporting.export`.
    """

    purpose: str  # what such an export is, for messages
    place: str  # the export's folder or file inside the run. "": the writer names it
    writer: str  # "module:function"
    dtypes: tuple = SAVED_MODEL_DTYPES  # of the stored weights, default first. (): float32 alone
    # flags besides --output, --weights, --dtype
    options: tuple = (*RECORDED, *SEARCH, *CONSTRAINTS)
    engine: str | None = None  # kind of the engine that opens it. None: only other programs do
    has_versions: bool = True  # the place is a folder of numbered versions, each with a record

    def write(self, *arguments, **options):
        module, function = self.writer.split(":")
        module = importlib.import_module(f"t2t_keras.runs.exports.{module}")
        return getattr(module, function)(*arguments, **options)


# The small ones first, in case the disk is full when all are renewed.
FORMATS = {
    "litert": ExportFormat(
        "model for LiteRT, which translates on CPUs",
        "export_litert",
        "writers:write_litert",
        LITERT_DTYPES,
        engine="litert",
    ),
    "portable": ExportFormat(
        "portable file with the search, which programs open with LiteRT",
        "export_portable",
        "writers:write_portable",
        LITERT_DTYPES,
    ),
    "ctranslate2": ExportFormat(
        "model for CTranslate2",
        "export_ctranslate2",
        "writers:write_ctranslate2",
        CTRANSLATE2_DTYPES,
        (*RECORDED, *SEARCH),
        "ctranslate2",
    ),
    "saved_model": ExportFormat(
        "SavedModel with text in and text out",
        "export",
        "writers:write_text_model",
        engine="tensorflow",
    ),
    "ids": ExportFormat(
        "SavedModel with ids in and ids out, which TensorFlow Serving serves",
        "export_ids",
        "writers:write_ids_model",
    ),
    "keras": ExportFormat(
        "Keras model, which load_model of Keras opens after `import t2t_keras.experiment`",
        "model.keras",
        "writers:write_keras",
        (),
        ("to",),
        has_versions=False,
    ),
    "argos": ExportFormat(
        "package for Argos Translate, which opens it",
        "",
        "argos_package:write",
        ("int8", *CTRANSLATE2_DTYPES[:-1]),
        ("to", "languages"),
        has_versions=False,
    ),
    "hub": ExportFormat(
        "folder for the Hugging Face Hub",
        "export_hub",
        "hub_folder:export_hub",
        LITERT_DTYPES[::-1],
        ("languages", "n_best", "license", *SEARCH, *CONSTRAINTS),
        has_versions=False,
    ),
}
