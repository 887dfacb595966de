"""LiteRT with the weights of one of our models, in float32 and in int8."""

import tempfile
from pathlib import Path

SYSTEMS = {"LiteRT float32": "float32", "LiteRT int8": "int8"}


def searches(model, beam, extra_length):
    """Returns {system: function of (source ids, beam) that returns `Hypotheses`}.

    Args:
        model: a `Transformer`.
        beam: the largest beam width.
        extra_length: see `SearchConfig`.
    """
    return {name: search_of(model, beam, extra_length, dtype) for name, dtype in SYSTEMS.items()}


def search_of(model, beam, extra_length, dtype):
    from t2t_keras.decoding.lone_search import lone_search
    from t2t_keras.decoding.numpy_search import numpy_search
    from t2t_keras.decoding.search import method_of
    from t2t_keras.decoding.search_config import SearchConfig
    from t2t_keras.export.formats import LITERT_MODEL
    from t2t_keras.export.litert.convert import save_litert
    from t2t_keras.translating.engines.litert_model import loaded_models, model_for

    with tempfile.TemporaryDirectory() as folder:
        layout = save_litert(Path(folder), model, beam, dtype)
        layout["caches"] = {str(width): each for width, each in layout["caches"].items()}
        models = loaded_models(Path(folder) / LITERT_MODEL, layout)

    def search(source, beam):
        config, chosen = (
            SearchConfig(beam=beam, extra_length=extra_length),
            model_for(models, len(source)),
        )
        try:
            if len(source) == 1:
                return lone_search(chosen, config, source)
            return numpy_search(method_of(chosen, config), source)
        finally:
            chosen.forget()

    return search


def engines(exports):
    """Returns {system: `LiteRTEngine`}.

    Args:
        exports: {system: folder of its export}.
    """
    from t2t_keras.translating.engines.litert import LiteRTEngine

    return {name: LiteRTEngine(exports[name]) for name in SYSTEMS}
