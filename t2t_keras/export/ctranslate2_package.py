"""The package ctranslate2, an optional dependency. This file loads neither Keras nor TensorFlow."""

UNKNOWN = 3
# CTranslate2 stores sinusoids as a table of fixed size: twice the length of our longest source.
POSITIONS = 2048


def import_ctranslate2(purpose):
    """Imports ctranslate2; `purpose` is the subject of the message if it is not installed."""
    try:
        import ctranslate2
    except ImportError as error:
        raise ValueError(
            f"{purpose} needs the package ctranslate2, which is not installed. "
            'Install it: pip install "t2t-keras[ctranslate2]"'
        ) from error
    return ctranslate2
