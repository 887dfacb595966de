"""The special ids that all vocabularies, batches and models share, and their text forms."""

from pipelines.text.normalization import SPACE_SIGN

PADDING, BEGIN, END, UNKNOWN = range(4)
# Word-piece entries of the special ids. Normalized text cannot contain them, because the
# normalization replaces the space sign.
SPECIAL_PIECES = [f"{SPACE_SIGN}{name}" for name in ("padding", "begin", "end", "unknown")]
CONTINUES = f"##{SPACE_SIGN}"  # prefix of a word piece that does not begin a word
MARKS = {PADDING: "<pad>", BEGIN: "<s>", END: "</s>"}  # labels in pictures for ids without text
UNKNOWN_SURFACE = "\u2047"  # text of an unknown piece, as in SentencePiece: ⁇
