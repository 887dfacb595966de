"""Identification of a text's language by CLD2, which needs the package `pycld2` (extra `identify`).

CLD2 reads 100,000 sentences per second on one core. `pipelines/RESULTS.md` compares it with others.
"""

from pipelines.languages.cld2 import cld2_code, import_cld2

# Languages that CLD2 cannot tell apart in short texts. Each is accepted for the others.
ALIKE = ({"no", "nn"}, {"bs", "hr", "sr", "sr-ME"}, {"id", "ms"}, {"zh", "zh-Hant"})
UNKNOWN = "un"
SETTING = "`other_language`"


class LanguageIdentifier:
    """Tells whether texts are in their expected language. Can be pickled.

    Args:
        language: code of the expected language, such as "de".
    """

    def __init__(self, language):
        self.hint = cld2_code(language, import_cld2(SETTING))
        if self.hint is None:
            raise ValueError(
                f"CLD2 does not know the language {language!r}: use "
                "--config.data.cleaning.other_language=False"
            )
        self.accepted = {self.hint, UNKNOWN}.union(*(each for each in ALIKE if self.hint in each))

    def is_other(self, text):
        """Returns whether a text is certainly in a different language.

        A text whose language is uncertain, such as a name or a number, is not. CLD2 is told the
        expected language, which decides between similar ones in short texts.
        """
        pycld2 = import_cld2(SETTING)
        try:
            _, _, found = pycld2.detect(text, hintLanguage=self.hint)
        except (pycld2.error, UnicodeEncodeError):  # control characters
            return False
        return found[0][1] not in self.accepted
