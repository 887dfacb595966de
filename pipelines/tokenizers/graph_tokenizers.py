"""The tokenizers as TensorFlow graphs, for batches of strings.

They run in SavedModels. Each tokenizer is a `tf.Module` that owns its tables and models, so that
they are exported with it.
"""

import tensorflow as tf
import tensorflow_text

from pipelines.special_ids import BEGIN, CONTINUES, SPECIAL_PIECES, UNKNOWN
from pipelines.text.normalization import SPACE_SIGN

# The white space of Python's `str.split`.
WHITE_SPACE = r"\t-\r\x{1c}-\x{20}\x{85}\pZ"
CONTROL_CHARACTERS = r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}]+"
LINE_FEED = "\n"  # a safe separator: normalized texts and pieces never contain it


def normalize(texts, normalization):
    """Applies a `Normalization` to a tensor of strings."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if normalization.control_characters:
        texts = tf.strings.regex_replace(texts, CONTROL_CHARACTERS, "")
    if normalization.nfc:
        texts = tensorflow_text.normalize_utf8(texts, "NFC")
    space = WHITE_SPACE + (SPACE_SIGN if normalization.space_sign else "")
    return tf.strings.strip(tf.strings.regex_replace(texts, f"[{space}]+", " "))


class GraphTokenizer(tf.Module):
    """Base class: a subclass has `ids_of(texts)`, which converts normalized strings to ragged ids.

    `tokenizer` is the tokenizer in Python.
    """

    def __init__(self, tokenizer):
        super().__init__()
        self.normalization, self.begin = tokenizer.normalization, tokenizer.begin
        if hasattr(tokenizer, "surfaces"):
            self.surfaces = tf.constant(tokenizer.surfaces)
        if self.begin or tokenizer.codes:
            pieces = tokenizer.pieces(range(tokenizer.size))
            self.is_code = tf.constant([piece in tokenizer.codes for piece in pieces])
            self.is_space = tf.constant([piece == SPACE_SIGN for piece in pieces])

    def tokenize(self, texts):
        """Converts strings `[batch]` to ids, ragged int32 `[batch, (length)]`."""
        ids = tf.cast(self.ids_of(normalize(texts, self.normalization)), tf.int32)
        if not self.begin:
            return ids
        filled = tf.cast(ids.row_lengths() > 0, tf.int32)
        begins = tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(filled)], BEGIN), filled)
        return tf.concat([begins, ids.with_row_splits_dtype(tf.int32)], axis=1)

    def of_pieces(self, pieces):
        """Returns the ids of ragged pieces."""
        return tf.ragged.map_flat_values(self.table.lookup, pieces)

    def detokenize(self, ids):
        """Converts ids `[batch, length]`, ragged or padded, to strings `[batch]`."""
        # Bytes that do not form valid UTF-8 become U+FFFD.
        texts = tf.strings.unicode_transcode(self.texts_of(ids), "UTF-8", "UTF-8", errors="replace")
        return tf.strings.regex_replace(texts, "^ +| +$", "")

    def texts_of(self, ids):
        pieces = tf.ragged.map_flat_values(tf.gather, self.surfaces, ids)
        return tf.strings.reduce_join(pieces, axis=-1)

    def leads(self, ids):
        """Returns how many of the ids from `tokenize` precede the text; see `Tokenizer.lead`."""
        first, second = (ids[:, self.begin + i : self.begin + i + 1] for i in range(2))
        spaced = any_of(self.is_space, first) & any_of(self.is_code, second)
        codes = tf.where(any_of(self.is_code, first), 1, tf.where(spaced, 2, 0))
        return codes + tf.cast((ids.row_lengths() > 0) & self.begin, tf.int32)


class GraphBytePairs(GraphTokenizer):
    """`BytePairTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        # Not FastSentencepieceTokenizer, which segments byte pairs incorrectly.
        model = tokenizer.model
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(model, out_type=tf.int32)

    def ids_of(self, texts):
        return self.tokenizer.tokenize(texts)

    def texts_of(self, ids):
        return self.tokenizer.detokenize(ids)


class GraphWordPieces(GraphTokenizer):
    """`WordPieceTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self.size = tokenizer.size
        self.table, self.tokenizer = longest_first(
            tokenizer.ids,
            suffix_indicator=CONTINUES,
            max_chars_per_token=max(map(len, tokenizer.vocabulary)),
            unknown_token=SPECIAL_PIECES[UNKNOWN],
        )

    def ids_of(self, texts):
        pieces = self.tokenizer.tokenize(tf.strings.split(texts, " "))  # [batch, (words), (pieces)]
        # An unknown character inside a word gets the id of the table's out-of-vocabulary bucket.
        return tf.ragged.map_flat_values(
            lambda flat: tf.where(flat < self.size, flat, UNKNOWN), pieces.merge_dims(1, 2)
        )


class GraphTokens(GraphTokenizer):
    """`TokenTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self.table = table_of(tokenizer.ids)

    def ids_of(self, texts):
        return self.of_pieces(tf.strings.split(texts))


class GraphMappedSentencePiece(GraphTokenizer):
    """`MappedSentencePiece` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(tokenizer.model, out_type=tf.string)
        self.splits_codes = tokenizer.splits_codes
        # A table needs at least one entry. Normalized text never contains a line feed.
        self.codes = table_of({LINE_FEED: UNKNOWN, **tokenizer.codes})
        self.table = table_of(tokenizer.ids)

    def ids_of(self, texts):
        if not self.splits_codes:
            return self.of_pieces(self.tokenizer.tokenize(texts))
        has_code = tf.strings.regex_full_match(texts, "(?s)>>.*?<<.*")
        start = tf.strings.regex_replace(texts, "(?s)^(>>.*?<<).*$", r"\1")
        codes = tf.boolean_mask(self.codes.lookup(start), has_code)
        codes = tf.RaggedTensor.from_row_lengths(codes, tf.cast(has_code, tf.int32))
        pieces = self.tokenizer.tokenize(tf.strings.regex_replace(texts, "(?s)^>>.*?<<", ""))
        ids = self.of_pieces(pieces).with_row_splits_dtype(tf.int32)
        return tf.concat([codes, ids], axis=1)


class GraphSubwords(GraphTokenizer):
    """`SubwordTokenizer` as a graph."""

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        self.undefined = ord(tokenizer.undefined)
        self.table, self.tokenizer = longest_first(
            {LINE_FEED: UNKNOWN, **tokenizer.ids},  # a table needs an unknown token
            suffix_indicator="",
            max_chars_per_token=tokenizer.longest,
            unknown_token=LINE_FEED,
        )
        escaped = {ord(c): tokenizer.escaped_character(c) for c in tokenizer.alphabet}
        self.escaped = table_of(escaped, "")
        # The codes at which a range of letters and digits begins or ends. TensorFlow's character
        # classes may follow a different version of Unicode than Python.
        kinds = [chr(code).isalnum() for code in range(0x110000)]
        changes = [code for code in range(1, len(kinds)) if kinds[code] != kinds[code - 1]]
        self.changes = tf.constant(changes)

    def ids_of(self, texts):
        characters = tf.strings.unicode_decode(texts, "UTF-8")
        codes, rows = characters.flat_values, characters.value_rowids()
        words = self.is_alphanumeric(codes)
        count = tf.size(codes)
        begins = (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])
        ends = tf.concat([begins, [True]], axis=0)[:count]
        begins = tf.concat([[True], begins], axis=0)[:count]
        escaped = self.escaped.lookup(codes)
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
        return pieces.merge_dims(1, 2)

    def texts_of(self, ids):
        tokens = tf.strings.split(super().texts_of(ids), "_")
        tokens = tf.ragged.boolean_mask(tokens, tokens != "")  # [batch, (tokens)]
        texts = self.unescaped(tokens.flat_values)
        first = tf.strings.unicode_decode(texts, "UTF-8")[:, :1].flat_values
        words, rows = self.is_alphanumeric(first), tokens.value_rowids()
        apart = (rows[1:] == rows[:-1]) & words[1:] & words[:-1]
        apart = tf.concat([[False], apart], axis=0)[: tf.size(texts)]
        texts = tf.strings.join([tf.where(apart, " ", ""), texts])
        return tf.strings.reduce_join(tokens.with_flat_values(texts), axis=-1)

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
        is_short = is_number & (tf.strings.length(digits) < 8)
        code = tf.strings.to_number(tf.where(is_short, digits, str(0x110000)), tf.int32)
        undefined = {"errors": "replace", "replacement_char": self.undefined}
        characters = tf.strings.unicode_encode(code[:, tf.newaxis], "UTF-8", **undefined)
        flat = tf.where(is_number, characters, flat)
        flat = tf.where(flat == r"\u", "_", tf.where(flat == r"\\", "\\", flat))
        return tf.strings.reduce_join(parts.with_flat_values(flat), axis=-1)


# {kind of tokenizer: its class}
GRAPHS = {
    "bpe": GraphBytePairs,
    "word_pieces": GraphWordPieces,
    "tokens": GraphTokens,
    "sentencepiece": GraphMappedSentencePiece,
    "subwords": GraphSubwords,
}


def longest_first(ids, **options):
    """Returns a table {piece: id} and a tokenizer that splits off the longest pieces."""
    initializer = tf.lookup.KeyValueTensorInitializer(
        [*ids], tf.constant([*ids.values()], tf.int64)
    )
    table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=1)
    options |= {"max_bytes_per_word": 2**31 - 1, "split_unknown_characters": True}
    return table, tensorflow_text.WordpieceTokenizer(table, **options)


def any_of(chosen, ids):
    """Returns whether each row of ragged ids contains a chosen id."""
    return tf.reduce_any(tf.ragged.map_flat_values(lambda flat: tf.gather(chosen, flat), ids), 1)


def table_of(entries, default=UNKNOWN):
    """Returns a table of the entries. All other keys map to the default."""
    initializer = tf.lookup.KeyValueTensorInitializer(
        tf.constant([*entries]), tf.constant([*entries.values()])
    )
    return tf.lookup.StaticHashTable(initializer, default)
