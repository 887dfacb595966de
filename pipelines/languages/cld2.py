"""The language of a text, by CLD2, which needs the package `pycld2` (extra `identify`).

CLD2 reads 100,000 sentences per second on one core. `pipelines/RESULTS.md` lists its error rates.
"""

import re

from pipelines.languages.language_codes import normalized

# {our code: CLD2's}, where they differ.
CODES = {"fil": "tl", "he": "iw", "jv": "jw", "nb": "no", "sh": "hr", "zh-Hans": "zh"}
# Languages that CLD2 cannot tell apart in short texts. Each is accepted for the others.
ALIKE = ({"no", "nn"}, {"bs", "hr", "sr", "sr-ME"}, {"id", "ms"}, {"zh", "zh-Hant"})
UNKNOWN = "un"
LONGEST = 2000  # characters of a text that `LanguageDetector` reads
NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]+")


class LanguageDetector:
    """Tells which of a few languages texts are in. It never detects languages unknown to CLD2."""

    def __init__(self, codes):
        self.cld2 = import_cld2()
        found = {code: cld2_code(code) for code in codes}
        self.codes = {code: own for code, own in found.items() if own}

    def __call__(self, text, is_html=False):
        """Returns (code, percentage of the text) for the languages of a text, likeliest first.

        CLD2 receives each language in turn as a hint; otherwise, it is unsure of short texts.
        With `is_html`, tags are skipped.
        """
        text, found = NOT_TEXT.sub(" ", text[:LONGEST]), {}
        for code, own in self.codes.items():
            settings = {"hintLanguage": own, "bestEffort": True, "isPlainText": not is_html}
            try:
                _, _, guesses = self.cld2.detect(text, **settings)
            except self.cld2.error:
                continue
            scores = [guess[2:] for guess in guesses if guess[1] == own]
            if scores:
                found[code] = max(scores)
        ranked = sorted(found, key=lambda code: found[code], reverse=True)
        return [(code, float(found[code][0])) for code in ranked]


class LanguageIdentifier:
    """Tells whether texts are in their expected language, such as "de". Can be pickled."""

    def __init__(self, language):
        self.hint = cld2_code(language)
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
        cld2 = import_cld2()
        try:
            _, _, found = cld2.detect(text, hintLanguage=self.hint)
        except (cld2.error, UnicodeEncodeError):  # control characters
            return False
        return found[0][1] not in self.accepted


def import_cld2():
    """Imports the package pycld2, an optional dependency."""
    try:
        import pycld2
    except ImportError as error:
        raise ValueError(
            "languages are identified by the package pycld2: pip install 't2t-keras[identify]'"
        ) from error
    return pycld2


def cld2_code(language):
    """Returns CLD2's code of a language, which may have a region, such as "pt-BR", or None."""
    known = {code for _, code in import_cld2().LANGUAGES}
    code = normalized(language)
    base = code.partition("-")[0]
    choices = CODES.get(code), code, CODES.get(base), base
    return next((each for each in choices if each in known), None)
