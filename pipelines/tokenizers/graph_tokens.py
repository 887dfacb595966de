"""Tokenizers of imported vocabularies as TensorFlow graphs, see `graph_tokenizers.py`."""

import tensorflow as tf
import tensorflow_text

from pipelines.special_ids import BEGIN, UNKNOWN
from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers.graph_tokenizers import normalize


class ImportedTokenizer(tf.Module):
    """Base class of these tokenizers. It handles the ids that may precede the text of a source."""

    def __init__(self, tokenizer):
        super().__init__()
        self.normalization, self.begin = tokenizer.normalization, tokenizer.begin
        self.table = lookup_table(tokenizer.ids)
        self.surfaces = tf.constant(tokenizer.surfaces())
        pieces = tokenizer.pieces(range(tokenizer.size))
        self.is_code = tf.constant([piece in tokenizer.codes for piece in pieces])
        self.is_space = tf.constant([piece == SPACE_SIGN for piece in pieces])

    def leads(self, ids):
        """Returns the number of ids before the text in each row; see `Tokenizer.lead`.

        Args:
            ids: ragged int32 `[batch, (length)]`, as `tokenize` returns them.
        """
        first, second = (ids[:, self.begin + i : self.begin + i + 1] for i in range(2))
        spaced = any_of(self.is_space, first) & any_of(self.is_code, second)
        codes = tf.where(any_of(self.is_code, first), 1, tf.where(spaced, 2, 0))
        return codes + tf.cast((ids.row_lengths() > 0) & self.begin, tf.int32)


class GraphTokenTokenizer(ImportedTokenizer):
    """`TokenTokenizer` as a graph."""

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        tokens = tf.strings.split(texts)
        ids = tf.ragged.map_flat_values(self.table.lookup, tokens)
        return with_begin(ids) if self.begin else ids

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        return joined_surfaces(self.surfaces, ids)


class GraphMappedSentencePiece(ImportedTokenizer):
    """`MappedSentencePiece` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(tokenizer.model, out_type=tf.string)
        self.splits_codes, self.codes = tokenizer.splits_codes, lookup_table(tokenizer.codes)

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        if not self.splits_codes:
            ids = self.of_pieces(texts)
        else:
            has_code = tf.strings.regex_full_match(texts, "(?s)>>.*?<<.*")
            codes = tf.boolean_mask(self.codes.lookup(code_of(texts)), has_code)
            codes = tf.RaggedTensor.from_row_lengths(codes, tf.cast(has_code, tf.int32))
            pieces = self.of_pieces(tf.strings.regex_replace(texts, "(?s)^>>.*?<<", ""))
            ids = tf.concat([codes, pieces.with_row_splits_dtype(tf.int32)], axis=1)
        return with_begin(ids) if self.begin else ids

    def of_pieces(self, texts):
        return tf.ragged.map_flat_values(self.table.lookup, self.tokenizer.tokenize(texts))

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        return joined_surfaces(self.surfaces, ids)


def code_of(texts):
    """Returns the start of each text if it looks like a language code, else the whole text."""
    return tf.strings.regex_replace(texts, "(?s)^(>>.*?<<).*$", r"\1")


def any_of(chosen, ids):
    """Returns whether each row of ragged ids contains a chosen id."""
    return tf.reduce_any(tf.ragged.map_flat_values(lambda flat: tf.gather(chosen, flat), ids), 1)


def lookup_table(ids):
    """Returns a table {string: id}. All other strings map to the unknown id."""
    # A table needs at least one entry. Normalized text never contains a line feed.
    entries = {"\n": UNKNOWN, **ids}
    keys, values = tf.constant(list(entries)), tf.constant(list(entries.values()), tf.int32)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, default_value=UNKNOWN)


def with_begin(ids):
    """Puts the begin id before each row that is not empty."""
    filled = tf.cast(ids.row_lengths() > 0, tf.int32)
    begins = tf.fill([tf.reduce_sum(filled)], BEGIN)
    begins = tf.RaggedTensor.from_row_lengths(begins, filled)
    return tf.concat([begins, ids.with_row_splits_dtype(tf.int32)], axis=1)


def joined_surfaces(surfaces, ids):
    """Joins the bytes of ids into texts. Malformed UTF-8 becomes U+FFFD."""
    pieces = tf.ragged.map_flat_values(tf.gather, surfaces, ids)
    texts = tf.strings.reduce_join(pieces, axis=-1)
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    return tf.strings.regex_replace(texts, "^ +| +$", "")
