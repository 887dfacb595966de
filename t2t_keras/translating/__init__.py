"""Translation of texts with an engine, which takes ids and returns hypotheses.

from t2t_keras.translating import load_translator

print(load_translator("runs/mine/export_litert").translate(["The dog sleeps."]))
"""

__all__ = ["load_translator"]


def __getattr__(name):
    # Imported lazily, because only opening an export needs the engines.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from t2t_keras.translating.exports import load_translator

    return load_translator
