"""Detection of a text's language by CLD2, which needs the package `pycld2` (extra `identify`)."""

import re

from pipelines.text.language_codes import normalized

LONGEST = 2000  # characters of a text that are read
NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]+")
# {our code: CLD2's}, where they differ.
CLD2_CODES = {"fil": "tl", "he": "iw", "jv": "jw", "nb": "no", "sh": "hr", "zh-Hans": "zh"}


class LanguageDetector:
    """Tells which of a few languages texts are in.

    Args:
        codes: codes of the languages. Those that CLD2 does not know are never detected.
    """

    def __init__(self, codes):
        self.pycld2 = imported()
        known = {code for _, code in self.pycld2.LANGUAGES}
        found = {code: cld2_code(code, known) for code in codes}
        self.codes = {code: own for code, own in found.items() if own}

    def __call__(self, text):
        """Returns (code, percentage of the text) for the languages of a text, likeliest first.

        CLD2 is told each of the languages in turn, because it is unsure of short texts otherwise.
        """
        text, found = NOT_TEXT.sub(" ", text[:LONGEST]), {}
        for code, own in self.codes.items():
            try:
                _, _, guesses = self.pycld2.detect(text, hintLanguage=own, bestEffort=True)
            except self.pycld2.error:
                continue
            scores = [guess[2:] for guess in guesses if guess[1] == own]
            if scores:
                found[code] = max(scores)
        ranked = sorted(found, key=lambda code: found[code], reverse=True)
        return [(code, float(found[code][0])) for code in ranked]


def cld2_code(code, known):
    """Returns CLD2's code of a language, which may have a region, such as "pt-BR", or None."""
    code = normalized(code)
    base = code.partition("-")[0]
    choices = CLD2_CODES.get(code), code, CLD2_CODES.get(base), base
    return next((each for each in choices if each in known), None)


def imported():
    try:
        import pycld2
    except ImportError as error:
        raise ValueError(
            "the detection of languages needs the package pycld2: pip install 't2t-keras[identify]'"
        ) from error
    return pycld2
