"""Tokenizers of imported vocabularies as TensorFlow graphs, see `graph_tokenizers.py`."""

import tensorflow as tf
import tensorflow_text

from pipelines.graph_tokenizers import normalize
from pipelines.special_ids import BEGIN, UNKNOWN


class GraphTokenTokenizer(tf.Module):
    """`TokenTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__()
        self.normalization, self.begin = tokenizer.normalization, tokenizer.begin
        self.table = lookup_table(tokenizer.ids)
        self.surfaces = tf.constant(tokenizer.surfaces())

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


class GraphMappedSentencePiece(tf.Module):
    """`MappedSentencePiece` as a graph."""

    def __init__(self, tokenizer):
        super().__init__()
        self.normalization, self.begin = tokenizer.normalization, tokenizer.begin
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(tokenizer.model, out_type=tf.string)
        self.table = lookup_table(tokenizer.ids)
        self.surfaces = tf.constant(tokenizer.surfaces())
        self.codes = lookup_table(tokenizer.codes) if tokenizer.codes is not None else None

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        if self.codes is None:
            ids = self.of_pieces(texts)
        else:
            has_code = tf.strings.regex_full_match(texts, "(?s)>>.*?<<.*")
            code = tf.strings.regex_replace(texts, "(?s)^(>>.*?<<).*$", r"\1")
            codes = tf.boolean_mask(self.codes.lookup(code), has_code)
            codes = tf.RaggedTensor.from_row_lengths(codes, tf.cast(has_code, tf.int32))
            pieces = self.of_pieces(tf.strings.regex_replace(texts, "(?s)^>>.*?<<", ""))
            ids = tf.concat([codes, pieces.with_row_splits_dtype(tf.int32)], axis=1)
        return with_begin(ids) if self.begin else ids

    def of_pieces(self, texts):
        return tf.ragged.map_flat_values(self.table.lookup, self.tokenizer.tokenize(texts))

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        return joined_surfaces(self.surfaces, ids)


def lookup_table(ids):
    """Returns a table from strings to ids; all others are unknown."""
    # A table needs an entry. Normalized text contains no line feed.
    entries = {"\n": UNKNOWN, **ids}
    keys, values = tf.constant(list(entries)), tf.constant(list(entries.values()), tf.int32)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, default_value=UNKNOWN)


def with_begin(ids):
    """Puts begin before each row that is not empty."""
    filled = tf.cast(ids.row_lengths() > 0, tf.int32)
    begins = tf.fill([tf.reduce_sum(filled)], BEGIN)
    begins = tf.RaggedTensor.from_row_lengths(begins, filled)
    return tf.concat([begins, ids.with_row_splits_dtype(tf.int32)], axis=1)


def joined_surfaces(surfaces, ids):
    """Joins the bytes of ids to texts; malformed UTF-8 becomes U+FFFD."""
    pieces = tf.ragged.map_flat_values(tf.gather, surfaces, ids)
    texts = tf.strings.reduce_join(pieces, axis=-1)
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    return tf.strings.regex_replace(texts, "^ +| +$", "")
