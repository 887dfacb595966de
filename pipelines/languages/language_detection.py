"""Detection of a text's language by CLD2, which needs the package `pycld2` (extra `identify`)."""

import re

from pipelines.languages.cld2 import cld2_code, import_cld2

LONGEST = 2000  # characters of a text that are read
NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]+")


class LanguageDetector:
    """Tells which of a few languages texts are in.

    Args:
        codes: codes of the languages. Those that CLD2 does not know are never detected.
    """

    def __init__(self, codes):
        self.pycld2 = import_cld2("the detection of languages")
        found = {code: cld2_code(code, self.pycld2) for code in codes}
        self.codes = {code: own for code, own in found.items() if own}

    def __call__(self, text, is_html=False):
        """Returns (code, percentage of the text) for the languages of a text, likeliest first.

        CLD2 is told each of the languages in turn, because it is unsure of short texts otherwise.

        Args:
            text: the text.
            is_html: whether its tags are skipped.
        """
        text, found = NOT_TEXT.sub(" ", text[:LONGEST]), {}
        for code, own in self.codes.items():
            settings = {"hintLanguage": own, "bestEffort": True, "isPlainText": not is_html}
            try:
                _, _, guesses = self.pycld2.detect(text, **settings)
            except self.pycld2.error:
                continue
            scores = [guess[2:] for guess in guesses if guess[1] == own]
            if scores:
                found[code] = max(scores)
        ranked = sorted(found, key=lambda code: found[code], reverse=True)
        return [(code, float(found[code][0])) for code in ranked]
