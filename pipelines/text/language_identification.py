"""Identification of a text's language by CLD2, which needs the package `pycld2` (extra `identify`).

CLD2 reads 100,000 sentences per second on one core. `pipelines/RESULTS.md` compares it with others.
"""

from pipelines.text.language_codes import normalized

# {our code: CLD2's}, where they differ.
CLD2_CODES = {"fil": "tl", "he": "iw", "jv": "jw", "nb": "no", "sh": "hr", "zh-Hans": "zh"}
# Languages that CLD2 cannot tell apart in short texts. Each is accepted for the others.
ALIKE = ({"no", "nn"}, {"bs", "hr", "sr", "sr-ME"}, {"id", "ms"}, {"zh", "zh-Hant"})
UNKNOWN = "un"


class LanguageIdentifier:
    """Tells whether texts are in their expected language. Can be pickled.

    Args:
        language: code of the expected language, such as "de".
    """

    def __init__(self, language):
        pycld2 = imported()
        self.hint = cld2_code(language, {code for _, code in pycld2.LANGUAGES})
        self.accepted = {self.hint, UNKNOWN}.union(*(each for each in ALIKE if self.hint in each))

    def is_other(self, text):
        """Returns whether a text is certainly in a different language.

        A text whose language is uncertain, such as a name or a number, is not. CLD2 is told the
        expected language, which decides between similar ones in short texts.
        """
        pycld2 = imported()
        try:
            _, _, found = pycld2.detect(text, hintLanguage=self.hint)
        except (pycld2.error, UnicodeEncodeError):  # control characters
            return False
        return found[0][1] not in self.accepted


def cld2_code(language, known):
    """Returns CLD2's code of a language, which may have a region, such as "pt-BR"."""
    code = normalized(language)
    base = code.partition("-")[0]
    found = next(
        (
            each
            for each in (CLD2_CODES.get(code), code, CLD2_CODES.get(base), base)
            if each in known
        ),
        None,
    )
    if found is None:
        raise ValueError(
            f"CLD2 does not know the language {language!r}: use "
            "--config.data.cleaning.other_language=False"
        )
    return found


def imported():
    try:
        import pycld2
    except ImportError as error:
        raise ValueError(
            "`other_language` needs the package pycld2: pip install 't2t-keras[identify]'"
        ) from error
    return pycld2
