"""`split_sentences` as a TensorFlow graph, without any operation outside TensorFlow."""

import tensorflow as tf

from pipelines.sentences import BREAK, patterns

MARK = b"\xff"  # in no UTF-8


def split_sentences(texts):
    """Splits each text into sentences and the white space between them.

    Args:
        texts: strings `[batch]`. Malformed UTF-8 becomes U+FFFD.

    Returns:
        `sentences` and `separators`, ragged strings `[batch, (sentences)]`. Each separator follows
        its sentence; the last one of a text is empty. Joined, they are the text.
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    marked = tf.strings.regex_replace(texts, BREAK, rb"\1" + MARK + rb"\2\3" + MARK)
    chunks = tf.strings.split(marked, MARK)  # word, white space, word, …, word
    flat, rows = chunks.flat_values, chunks.value_rowids()
    is_word = (tf.range(tf.size(flat, tf.int64)) - tf.gather(chunks.row_starts(), rows)) % 2 == 0
    following = tf.concat([flat[1:], [""]], axis=0)[: tf.size(flat)]
    words, rows = tf.boolean_mask(flat, is_word), tf.boolean_mask(rows, is_word)
    last = tf.concat([rows[1:] != rows[:-1], [True]], axis=0)[: tf.size(words)]
    spaces = tf.where(last, "", tf.boolean_mask(following, is_word))
    ends = ends_between(words, spaces) | last
    sentence = tf.cumsum(tf.cast(ends, tf.int32), exclusive=True)
    tokens = tf.strings.join([words, tf.where(ends, "", spaces)])
    rows_of_sentences = tf.boolean_mask(rows, ends)
    sentences = tf.strings.unsorted_segment_join(tokens, sentence, tf.size(rows_of_sentences))
    separators = tf.boolean_mask(spaces, ends)

    def ragged(values):
        return tf.RaggedTensor.from_value_rowids(values, rows_of_sentences, chunks.nrows())

    return ragged(sentences), ragged(separators)


def ends_between(words, spaces):
    """Returns for each word whether a sentence ends between it and the next one.

    Args:
        words: strings `[words]`, of all texts.
        spaces: the white space after each word.
    """
    after = tf.concat([words[1:], [""]], axis=0)[: tf.size(words)]

    def matches(name, strings):
        return tf.strings.regex_full_match(strings, getattr(patterns(), name))

    by_stop = (
        matches("end", words)
        & (matches("start", after) | (matches("full_stop", words) & matches("dash", after)))
        & ~matches("unfinished", words)
        & ~(matches("before_number", words) & matches("digit", after))
        & (matches("starter", after) | ~matches("ambiguous", words))
        & ~(matches("quoted", words) & matches("speaks_on", after))
    )
    return (words != "") & (after != "") & (matches("line_break", spaces) | by_stop)
