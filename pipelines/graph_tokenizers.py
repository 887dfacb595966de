"""The tokenizers of `tokenizers.py` as TensorFlow graphs, on whole batches of strings.

For `tf.data` and for serving. Everything a graph needs hangs on the module, so that it is
exported with it.
"""

import tensorflow as tf
import tensorflow_text

from pipelines.tokenizers import CONTINUES, END, SPECIAL_PIECES, UNKNOWN, UNKNOWN_SURFACE

# What Python's `str.split` takes for white space, and SentencePiece's sign for a space.
WHITE_SPACE = r"[\t-\r\x{1c}-\x{20}\x{85}\x{2581}\pZ]+"
CONTROL_CHARACTERS = r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}]+"


def normalize(texts, normalization):
    """`Normalization.__call__` for a tensor of strings."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if normalization.control_characters:
        texts = tf.strings.regex_replace(texts, CONTROL_CHARACTERS, "")
    if normalization.nfc:
        texts = tensorflow_text.normalize_utf8(texts, "NFC")
    return tf.strings.strip(tf.strings.regex_replace(texts, WHITE_SPACE, " "))


class GraphBytePairTokenizer(tf.Module):
    """`BytePairTokenizer` in a graph."""

    def __init__(self, model, normalization):
        super().__init__()
        self.normalization = normalization
        # Not FastSentencepieceTokenizer, which cuts byte pairs wrongly.
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(model, out_type=tf.int32)

    def tokenize(self, texts):
        """Strings `[batch]` → ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """`tokenize` for texts that are known to be normalised."""
        return self.tokenizer.tokenize(texts)

    def detokenize(self, ids):
        """Ids `[batch, length]`, ragged or padded → strings `[batch]`."""
        texts = self.tokenizer.detokenize(ids)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.regex_replace(texts, "^ +| +$", "")


class GraphWordPieceTokenizer(tf.Module):
    """`WordPieceTokenizer` in a graph."""

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
        surfaces = ["", "", "", f" {UNKNOWN_SURFACE} "]
        surfaces += [
            piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"
            for piece in vocabulary[END + 2 :]
        ]
        self.surfaces = tf.constant(surfaces)

    def tokenize(self, texts):
        """Strings `[batch]` → ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """`tokenize` for texts that are known to be normalised."""
        words = tf.strings.split(texts, " ")
        pieces = self.tokenizer.tokenize(words)  # [batch, (words), (pieces)]
        ids = tf.cast(pieces.merge_dims(1, 2), tf.int32)
        # Inside a word, a character that is unknown comes out as the table's bucket for such.
        return tf.ragged.map_flat_values(
            lambda flat: tf.where(flat < self.size, flat, UNKNOWN), ids
        )

    def detokenize(self, ids):
        """Ids `[batch, length]`, ragged or padded → strings `[batch]`."""
        pieces = tf.ragged.map_flat_values(tf.gather, self.surfaces, ids)
        texts = tf.strings.reduce_join(pieces, axis=-1)
        return tf.strings.regex_replace(texts, "^ +| +$", "")
