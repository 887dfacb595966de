"""What is done to every text before it is cut into pieces, here and in a serving graph alike.

Two strings that look the same should be the same pieces. So text becomes valid UTF-8 in Unicode's
composed form (NFC), without control characters, with single spaces. `graph_tokenizers.py` does the
same to tensors; the tests hold both to the same bytes for every character there is.
"""

import dataclasses
import re
import unicodedata

# The sign that SentencePiece writes for a space. In a text it counts as one.
SPACE_SIGN = "\u2581"
# Unicode's control characters (Cc), but for those that are white space.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")


@dataclasses.dataclass(frozen=True)
class Normalization:
    """Makes texts that look the same the same.

    Args:
        nfc: compose characters as Unicode's NFC does.
        control_characters: remove them.

    Runs of white space become one space whatever the settings.
    """

    nfc: bool = True
    control_characters: bool = True

    def __call__(self, text):
        """Text as `str`, from `str` or from bytes, where what is not UTF-8 becomes U+FFFD."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        else:  # a lone half of a surrogate pair has no UTF-8
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        if self.control_characters:  # first, for one may stand between a letter and its accent
            text = CONTROL_CHARACTERS.sub("", text)
        if self.nfc:
            text = unicodedata.normalize("NFC", text)
        return " ".join(text.replace(SPACE_SIGN, " ").split())
