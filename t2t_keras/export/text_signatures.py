"""The signatures of a SavedModel that takes text: translations, scores and attention weights.

`translate_n_best` is the graph version of `decoding/translator.py`, and `score` of
`decoding/scoring.py`. Batches are formed in the same way, so the answers are identical.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from t2t_keras.decoding.alignment import attention_between
from t2t_keras.decoding.batches import LONGEST
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.special_ids import BEGIN, PADDING
from t2t_keras.export.compiled_stages import compiled_stages
from t2t_keras.export.signature_constants import ATTENTION_LONGEST
from t2t_keras.export.small_batch_search import small_batch_search
from t2t_keras.export.staged_search import staged_search
from t2t_keras.export.text_parts import complete, in_batches, joined, padded, parts, split_at

TEXTS = tf.TensorSpec([None], tf.string)
# Signatures whose answers for a text do not depend on the other texts of the batch.
BATCHABLE = ("serving_default", "translate_n_best", "score")

# The outputs of the signature `attention`, and the names of their layers in a model.
ATTENTIONS = {
    "encoder": "encoder/{}/self_attention",
    "decoder": "decoder/{}/self_attention",
    "cross": "decoder/{}/cross_attention",
}


class Language(NamedTuple):
    """The pieces of a language.

    Args:
        tokenizer: has `tokenize(texts)` and `detokenize(ids)`, which work in graphs.
        pieces: the text of each id.
        begins_word: for each id, whether it begins a word.
        start: ids that begin every text.
        has_lead: whether ids of a text may apply to all of its parts: begin, or a language code.
            The tokenizer then has `leads(ids)`, which returns how many they are, and
            `codes_before(texts)`, which returns the code at the beginning of each text, or "".
        normalize: function that normalizes texts as the tokenizer does, also ragged ones.
        ends_phrase: for each id, whether it ends the word of the piece before it. None: the pieces
            do not show where words begin.
    """

    tokenizer: Any
    pieces: Any
    begins_word: Any
    start: tuple = ()
    has_lead: bool = False
    normalize: Any = tf.identity
    ends_phrase: Any = None


class TextSignatures(tf.Module):
    """The signatures of a model that takes text.

    Args:
        model: a `Transformer`.
        method: a search, from `method_of`.
        source, target: the `Language`s.
        batch_tokens: maximum rows × length of a batch. A batch has at least one row.
        alignment: the `AlignmentHead` of the signature `align`. None: the default one.
    """

    def __init__(self, model, method, source, target, batch_tokens=4096, alignment=None):
        super().__init__()
        self.alignment = alignment
        self.model, self.method, self.source, self.target = model, method, source, target
        self.begins_word = tf.constant(source.begins_word)
        self.source_pieces = tf.constant(source.pieces)
        self.target_pieces = tf.constant(target.pieces)
        self.batch_tokens = batch_tokens
        self.longest = min(model.longest or LONGEST, LONGEST)
        self.small_search = small_batch_search(method, model.longest)
        self.compiled_stages = compiled_stages(method, model.longest)

    def translate_n_best(self, text):
        """Returns the n best `translations` [batch, n] of each text and their `scores`."""
        ids, text_of = self.parts(text)
        n = self.method.config.n_best

        def translate(rows):
            source = padded(tf.gather(ids, rows), self.longest)
            tokens, scores = staged_search(self.method, source, self.model.longest)
            texts = self.target.tokenizer.detokenize(tf.reshape(tokens, (-1, tf.shape(tokens)[2])))
            return tf.reshape(texts, (-1, n)), scores

        lengths = ids.row_lengths()
        empty = tf.zeros([0, n], tf.string), tf.zeros([0, n])
        texts, scores = in_batches(translate, lengths, self.batch_tokens, empty)
        return joined(texts, scores, text_of, tf.shape(text)[0])

    def parts(self, texts):
        """Returns the ids of texts in parts that are short enough, and the text of each part."""
        start, ids = self.source.start, self.source.tokenizer.tokenize(texts)
        room = self.longest - 1 - len(start)
        if not self.source.has_lead:
            ids, text_of = parts(ids, self.begins_word, room)
            return complete(ids, start), text_of
        lead, ids = split_at(ids, self.source.tokenizer.leads(ids))
        ids, text_of = parts(ids, self.begins_word, room - lead.row_lengths())
        return complete(tf.concat([tf.gather(lead, text_of), ids], axis=1), start), text_of

    def translate_small_batch(self, text, lengths):
        """Does the same for a few short texts, with a search that XLA compiles for each shape.

        Args:
            text: texts `[batch]`.
            lengths: the numbers of tokens, ascending, to which texts may be padded.

        Returns:
            `translations` and `scores` of `translate_n_best`; `length` [batch], the number of
            tokens of each text, including its end; and `finished`. If that is False, translations
            and scores are not valid: a text is empty or too long, or has a long translation.
        """
        return self.translate_short(text, lengths, self.small_search)

    def translate_batch(self, text, lengths, rows):
        """Does the same for more short texts, in stages that XLA compiles for each shape.

        Args:
            text, lengths: see `translate_small_batch`.
            rows: the numbers of rows, ascending, that a stage may have. The last number must be at
                least that of the texts.

        Returns:
            The results of `translate_small_batch`. Long translations are valid.
        """

        def search(source):
            return *self.compiled_stages(source, rows), tf.constant(True)

        return self.translate_short(text, lengths, search)

    def translate_short(self, text, lengths, search):
        """Translates texts that are padded to the first of the lengths that suffices.

        Args:
            text, lengths: see `translate_small_batch`.
            search: function from source ids to tokens, scores and whether these are valid.
        """
        ids = self.source.tokenizer.tokenize(text)
        lead = self.source.tokenizer.leads(ids) if self.source.has_lead else 0
        has_text = tf.cast(ids.row_lengths(), tf.int32) > lead
        ids = complete(ids, self.source.start)
        count, n = tf.shape(text)[0], self.method.config.n_best
        own = tf.cast(ids.row_lengths(), tf.int32)
        fitting = tf.boolean_mask(lengths, lengths >= tf.reduce_max(own))

        def translate():
            source = ids.to_tensor()
            source = tf.pad(source, [(0, 0), (0, fitting[0] - tf.shape(source)[1])])
            tokens, scores, finished = search(source)
            tokens = tf.reshape(tokens, (count * n, tf.shape(tokens)[2]))
            texts = tf.reshape(self.target.tokenizer.detokenize(tokens), (count, n))
            return texts, scores, finished

        def refuse():
            return tf.fill([count, n], ""), tf.zeros([count, n]), tf.constant(False)

        fits = (tf.size(fitting) > 0) & tf.reduce_all(has_text)
        texts, scores, finished = tf.cond(fits, translate, refuse)
        results = joined(texts, scores, tf.range(count), count)
        return results | {"finished": finished, "length": own}

    def score(self, source, target):
        """Returns log P of each target given its source, as `log_probabilities` [batch]."""
        sides = self.with_ends(source, target)
        tf.debugging.assert_equal(
            tf.shape(source), tf.shape(target), "each source must have a target"
        )
        lengths = tf.maximum(*(side.row_lengths() for side in sides))
        with self.checked_length(lengths, self.longest):
            lengths = tf.identity(lengths)

        def log_p_of(rows):
            batch = [padded(tf.gather(side, rows), self.model.longest) for side in sides]
            of_tokens = tf.cast(log_probabilities(self.model, *batch), tf.float64)
            return (tf.cast(tf.reduce_sum(of_tokens, axis=1), tf.float32),)

        (log_p,) = in_batches(log_p_of, lengths, self.batch_tokens // 2, (tf.zeros([0]),))
        return {"log_probabilities": log_p}

    def score_pieces(self, text, translation):
        """Returns log P of each piece of a `translation` of `text`, given those before it.

        `target_pieces` [batch, pieces] end with the end token and are padded with "";
        `log_probabilities` are 0 there.
        """
        source, target = self.short_pair(text, translation)
        return {
            "target_pieces": pieces_of(target, self.target_pieces),
            "log_probabilities": log_probabilities(self.model, source, target),
        }

    def attention(self, text, translation):
        """Returns the attention weights of a model that reads `text` and writes `translation`.

        `source_pieces` and `target_pieces` are padded with "". The weights `encoder`, `decoder`
        and `cross` are [batch, layers, heads, queries, keys]. In `decoder` and `cross`, row i
        contains the weights with which target piece i is written. The columns of `decoder` are
        begin and the earlier target pieces. A kind that the model does not have is absent.
        """
        source, target = self.short_pair(text, translation)
        read = tf.concat([tf.fill([tf.shape(target)[0], 1], BEGIN), target[:, :-1]], axis=1)
        weights = self.model.attention_weights({"source": source, "target": read})
        layers = zip(ATTENTIONS.items(), self.model.config.attention_layers, strict=True)
        return {
            "source_pieces": pieces_of(source, self.source_pieces),
            "target_pieces": pieces_of(target, self.target_pieces),
        } | {
            output: tf.stack([weights[name.format(layer)] for layer in range(count)], axis=1)
            for (output, name), count in layers
            if count
        }

    def align(self, text, translation):
        """Returns the attention weights from which the words of `translation` are aligned.

        `weights` are [batch, target pieces, source pieces], of the chosen layer and head. The
        pieces are as in `attention`.
        """
        source, target = self.short_pair(text, translation)
        return {
            "source_pieces": pieces_of(source, self.source_pieces),
            "target_pieces": pieces_of(target, self.target_pieces),
            "weights": attention_between(self.model, source, target, self.alignment),
        }

    def short_pair(self, text, translation):
        """Returns the padded ids of texts and translations after checking their lengths."""
        source, target = (ids.to_tensor() for ids in self.with_ends(text, translation))
        lengths = tf.concat([tf.shape(source), tf.shape(target)], 0)[1::2]
        with self.checked_length(lengths, min(self.longest, ATTENTION_LONGEST)):
            return tf.identity(source), tf.identity(target)

    def with_ends(self, source, target):
        """Tokenizes sources and targets; each row of ids ends with the end token."""
        sides = (self.source, source), (self.target, target)
        return [
            complete(language.tokenizer.tokenize(texts), language.start)
            for language, texts in sides
        ]

    def checked_length(self, lengths, longest):
        """Returns a context whose operations run only if no length exceeds the limit.

        Memory grows with the square of the length, so nothing may be computed before the check.
        """
        message = f"a text must have at most {longest} tokens, including the end token"
        return tf.control_dependencies([tf.debugging.assert_less_equal(lengths, longest, message)])


def pieces_of(ids, pieces):
    return tf.where(ids == PADDING, "", tf.gather(pieces, ids))
