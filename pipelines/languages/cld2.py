"""The package pycld2 (extra `identify`), which identifies languages, and its codes for them."""

from pipelines.languages.language_codes import normalized

# {our code: CLD2's}, where they differ.
CODES = {"fil": "tl", "he": "iw", "jv": "jw", "nb": "no", "sh": "hr", "zh-Hans": "zh"}


def import_cld2(purpose):
    """Imports the package pycld2, an optional dependency.

    Args:
        purpose: subject of the error message, such as "`other_language`".
    """
    try:
        import pycld2
    except ImportError as error:
        raise ValueError(
            f"{purpose} needs the package pycld2: pip install 't2t-keras[identify]'"
        ) from error
    return pycld2


def cld2_code(language, pycld2):
    """Returns CLD2's code of a language, which may have a region, such as "pt-BR", or None.

    Args:
        language: the code of a language.
        pycld2: the package.
    """
    known = {code for _, code in pycld2.LANGUAGES}
    code = normalized(language)
    base = code.partition("-")[0]
    choices = CODES.get(code), code, CODES.get(base), base
    return next((each for each in choices if each in known), None)
