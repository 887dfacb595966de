"""The learned tokenizers as TensorFlow graphs, for batches of strings.

They run in `tf.data` and in SavedModels. Each tokenizer is a `tf.Module` that owns its tables and
models, so that they are exported with it.
"""

import tensorflow as tf
import tensorflow_text

from pipelines.special_ids import CONTINUES, SPECIAL_PIECES, UNKNOWN, UNKNOWN_SURFACE
from pipelines.text.normalization import SPACE_SIGN

# The white space of Python's `str.split`.
WHITE_SPACE = r"\t-\r\x{1c}-\x{20}\x{85}\pZ"
CONTROL_CHARACTERS = r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}]+"


def normalize(texts, normalization):
    """Applies a `Normalization` to a tensor of strings."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if normalization.control_characters:
        texts = tf.strings.regex_replace(texts, CONTROL_CHARACTERS, "")
    if normalization.nfc:
        texts = tensorflow_text.normalize_utf8(texts, "NFC")
    space = WHITE_SPACE + (SPACE_SIGN if normalization.space_sign else "")
    return tf.strings.strip(tf.strings.regex_replace(texts, f"[{space}]+", " "))


class GraphBytePairTokenizer(tf.Module):
    """`BytePairTokenizer` as a graph."""

    def __init__(self, model, normalization):
        super().__init__()
        self.normalization = normalization
        # Not FastSentencepieceTokenizer, which segments byte pairs incorrectly.
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(model, out_type=tf.int32)

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenizer.tokenize(texts)

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        texts = self.tokenizer.detokenize(ids)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.regex_replace(texts, "^ +| +$", "")


class GraphWordPieceTokenizer(tf.Module):
    """`WordPieceTokenizer` as a graph."""

    def __init__(self, vocabulary, normalization):
        super().__init__()
        self.normalization = normalization
        self.size = len(vocabulary)
        ids = tf.range(len(vocabulary), dtype=tf.int64)
        table = tf.lookup.KeyValueTensorInitializer(tf.constant(vocabulary), ids)
        self.table = tf.lookup.StaticVocabularyTable(table, num_oov_buckets=1)
        self.tokenizer = tensorflow_text.WordpieceTokenizer(
            self.table,
            suffix_indicator=CONTINUES,
            max_bytes_per_word=2**31 - 1,
            max_chars_per_token=max(map(len, vocabulary)),
            unknown_token=SPECIAL_PIECES[UNKNOWN],
            split_unknown_characters=True,
        )
        surfaces = ["", "", "", f" {UNKNOWN_SURFACE} "]  # texts of padding, begin, end and unknown
        surfaces += [
            piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"
            for piece in vocabulary[len(SPECIAL_PIECES) :]
        ]
        self.surfaces = tf.constant(surfaces)

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        words = tf.strings.split(texts, " ")
        pieces = self.tokenizer.tokenize(words)  # [batch, (words), (pieces)]
        ids = tf.cast(pieces.merge_dims(1, 2), tf.int32)
        # An unknown character inside a word gets the id of the table's out-of-vocabulary bucket.
        return tf.ragged.map_flat_values(
            lambda flat: tf.where(flat < self.size, flat, UNKNOWN), ids
        )

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        pieces = tf.ragged.map_flat_values(tf.gather, self.surfaces, ids)
        texts = tf.strings.reduce_join(pieces, axis=-1)
        return tf.strings.regex_replace(texts, "^ +| +$", "")
