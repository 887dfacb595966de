"""The normalization that is applied to every text before it is split into pieces.

Strings that look the same should become the same pieces. Normalized text is valid UTF-8 in
Unicode's composed form (NFC), without control characters and with single spaces.
`graph_tokenizers.py` does the same for string tensors; tests compare the results byte by byte for
every Unicode character. The functions for word boundaries are used by glossaries and placeholders.
"""

import dataclasses
import re
import unicodedata

# SentencePiece's symbol for a space.
SPACE_SIGN = "\u2581"
# Unicode's control characters (Cc), except those that are white space.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")
JOINERS = "_\u200c\u200d"  # the last two are invisible and occur inside words, as in Persian


@dataclasses.dataclass(frozen=True)
class Normalization:
    """Maps texts that look the same to the same string.

    Args:
        nfc: whether to compose characters (Unicode NFC).
        control_characters: whether to remove control characters.
        space_sign: whether SentencePiece's symbol for a space counts as a space. Set it to False
            for imported models that expect text already split by SentencePiece.

    Runs of white space always become one space.
    """

    nfc: bool = True
    control_characters: bool = True
    space_sign: bool = True

    def __call__(self, text):
        """Returns the normalized `str` of a `str` or bytes. Malformed UTF-8 becomes U+FFFD."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        else:  # an unpaired surrogate has no UTF-8 encoding
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        # Before NFC: a control character may separate a letter from its accent.
        if self.control_characters:
            text = CONTROL_CHARACTERS.sub("", text)
        if self.nfc:
            text = unicodedata.normalize("NFC", text)
        if self.space_sign:
            text = text.replace(SPACE_SIGN, " ")
        return " ".join(text.split())


def is_word_character(character):
    """Returns whether a character forms words together with its neighbors.

    Letters, digits and accents do. Wide letters do not, because Chinese and Japanese text has no
    spaces.
    """
    if unicodedata.east_asian_width(character) in "WF":
        return False
    is_accent = unicodedata.category(character).startswith("M")
    return character.isalnum() or is_accent or character in JOINERS


def is_edge(text, index):
    """Returns whether `index` is not inside a word, so that a phrase can begin or end there."""
    if not 0 < index < len(text):
        return True
    return not (is_word_character(text[index - 1]) and is_word_character(text[index]))


def spans_of(phrase, text):
    """Yields (start, end) of each occurrence of a phrase in a text as whole words."""
    start = text.find(phrase) if phrase else -1
    while start >= 0:
        end = start + len(phrase)
        is_whole = is_edge(text, start) and is_edge(text, end)
        if is_whole:
            yield start, end
        start = text.find(phrase, end if is_whole else start + 1)
