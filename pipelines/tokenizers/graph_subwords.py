"""`SubwordTokenizer` as a TensorFlow graph, see `graph_tokenizers.py`."""

import tensorflow as tf
import tensorflow_text

from pipelines.special_ids import UNKNOWN
from pipelines.tokenizers.graph_tokenizers import normalize

# Unicode's noncharacters, which TensorFlow does not encode.
NONCHARACTERS = [*range(0xFDD0, 0xFDF0)]
NONCHARACTERS += [plane << 16 | low for plane in range(17) for low in (0xFFFE, 0xFFFF)]
LINE_FEED = "\n"  # a safe separator: normalized texts and pieces never contain it


class GraphSubwordTokenizer(tf.Module):
    """`SubwordTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__()
        self.normalization, self.undefined = tokenizer.normalization, ord(tokenizer.undefined)
        self.surfaces = tf.constant(tokenizer.surfaces())
        # A table needs an unknown token. No text contains a line feed.
        ids = {LINE_FEED: UNKNOWN, **tokenizer.ids}
        keys, values = tf.constant(list(ids)), tf.constant(list(ids.values()), tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.ids = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=1)
        self.tokenizer = tensorflow_text.WordpieceTokenizer(
            self.ids,
            suffix_indicator="",
            max_bytes_per_word=2**31 - 1,
            max_chars_per_token=tokenizer.longest,
            unknown_token=LINE_FEED,
            split_unknown_characters=True,
        )
        escaped = {ord(c): tokenizer.escaped_character(c) for c in tokenizer.alphabet}
        self.escaped = strings_of_codes(escaped)
        self.noncharacters = strings_of_codes({code: chr(code) for code in NONCHARACTERS})
        # The codes at which a range of letters and digits begins or ends. TensorFlow's character
        # classes may follow a different version of Unicode than Python.
        kinds = [chr(code).isalnum() for code in range(0x110000)]
        changes = [code for code in range(1, len(kinds)) if kinds[code] != kinds[code - 1]]
        self.changes = tf.constant(changes)

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        return self.tokenize_normalized(normalize(texts, self.normalization))

    def tokenize_normalized(self, texts):
        """Converts normalized strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        characters = tf.strings.unicode_decode(texts, "UTF-8")
        codes, rows = characters.flat_values, characters.value_rowids()
        words = self.is_alphanumeric(codes)
        count = tf.size(codes)
        begins = (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])
        ends = tf.concat([begins, [True]], axis=0)[:count]
        begins = tf.concat([[True], begins], axis=0)[:count]
        escaped = self.escaped.lookup(tf.cast(codes, tf.int64))
        numbers = tf.strings.join(["\\", tf.strings.as_string(codes), ";"])
        escaped = tf.where(escaped == "", numbers, escaped)
        escaped = tf.strings.join([escaped, tf.where(ends, "_", "")])
        kept = ~(begins & ends & (codes == ord(" ")))
        rows_of_tokens = tf.boolean_mask(rows, begins & kept)
        begins = tf.cast(tf.boolean_mask(begins, kept), tf.int32)
        tokens = tf.strings.unsorted_segment_join(
            tf.boolean_mask(escaped, kept), tf.cumsum(begins) - 1, tf.size(rows_of_tokens)
        )
        pieces = self.tokenizer.tokenize(tokens)  # [tokens, (pieces)]
        pieces = tf.RaggedTensor.from_value_rowids(pieces, rows_of_tokens, characters.nrows())
        return tf.cast(pieces.merge_dims(1, 2), tf.int32)

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        pieces = tf.ragged.map_flat_values(tf.gather, self.surfaces, ids)
        tokens = tf.strings.split(tf.strings.reduce_join(pieces, axis=-1), "_")
        tokens = tf.ragged.boolean_mask(tokens, tokens != "")  # [batch, (tokens)]
        texts = self.unescaped(tokens.flat_values)
        first = tf.strings.unicode_decode(texts, "UTF-8")[:, :1].flat_values
        words, rows = self.is_alphanumeric(first), tokens.value_rowids()
        apart = (rows[1:] == rows[:-1]) & words[1:] & words[:-1]
        apart = tf.concat([[False], apart], axis=0)[: tf.size(texts)]
        texts = tf.strings.join([tf.where(apart, " ", ""), texts])
        texts = tf.strings.reduce_join(tokens.with_flat_values(texts), axis=-1)
        return tf.strings.regex_replace(texts, "^ +| +$", "")

    def is_alphanumeric(self, codes):
        return tf.searchsorted(self.changes, codes, side="right") % 2 == 1

    def unescaped(self, tokens):
        """Replaces the escapes in tokens, strings `[tokens]`."""
        escape = r"(\\u|\\\\|\\[0-9]+;)"
        parts = tf.strings.regex_replace(tokens, escape, rf"{LINE_FEED}\1{LINE_FEED}")
        parts = tf.strings.split(parts, LINE_FEED)  # [tokens, (parts)]; each escape is a part
        flat = parts.flat_values
        is_number = tf.strings.regex_full_match(flat, r"\\[0-9]+;")
        digits = tf.strings.regex_replace(flat, r"^\\0*([0-9]+);$", r"\1")
        is_code = is_number & (tf.strings.length(digits) < 8)
        code = tf.strings.to_number(tf.where(is_code, digits, "0"), tf.int32)
        is_code &= (code < 0x110000) & ((code < 0xD800) | (code >= 0xE000))
        code = tf.where(is_code, code, self.undefined)
        characters = self.noncharacters.lookup(tf.cast(code, tf.int64))
        encoded = tf.strings.unicode_encode(code[:, tf.newaxis], "UTF-8")
        characters = tf.where(characters == "", encoded, characters)
        flat = tf.where(is_number, characters, flat)
        flat = tf.where(flat == r"\u", "_", tf.where(flat == r"\\", "\\", flat))
        return tf.strings.reduce_join(parts.with_flat_values(flat), axis=-1)


def strings_of_codes(strings):
    """Returns a table {character code: string}. All other codes map to the empty string."""
    keys, values = tf.constant(list(strings), tf.int64), tf.constant(list(strings.values()))
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, default_value="")
