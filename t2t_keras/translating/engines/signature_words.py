"""The words of translations by a SavedModel: their alignment and their confidence.

The parts of a `Translation` are pairs of texts here, a sentence and its translation. They are read
again, so their pieces are those that the model has written unless it splits a word differently than
the vocabulary.
"""

import numpy as np

from pipelines.special_ids import END
from t2t_keras.decoding.batches import batches
from t2t_keras.export.signature_constants import ALIGN, ATTENTION_LONGEST, SCORE_PIECES
from t2t_keras.translating.pieces_of_words import texts_of_words
from t2t_keras.translating.text_error import in_text
from t2t_keras.translating.word_confidence import of_words
from t2t_keras.translating.word_links import word_aligner

SCORED_TOKENS = 2048  # maximum rows × length of a call that scores pieces


class SignatureWords:
    """Aligns and rates words through the signatures of a SavedModel.

    Args:
        call: function from the name of a signature and its inputs to its outputs, as arrays.
        tokenizer: the vocabulary's tokenizer.
        longest: maximum length of a text, in tokens. None: no maximum.
    """

    def __init__(self, call, tokenizer, longest=None):
        self.call, self.tokenizer = call, tokenizer
        self.longest = min(longest or ATTENTION_LONGEST, ATTENTION_LONGEST)

    def aligner(self):
        """Returns a function from a `Translation` to its (source word, target word) indices."""
        return word_aligner(
            self.tokenizer, self.weights, lambda part: self.short_ids(part, "aligns the words")
        )

    def patient_aligner(self):
        """Returns an `aligner` that aligns words by their order where a sentence is too long."""
        return word_aligner(self.tokenizer, self.weights_or_order, self.ids)

    def words(self, translation):
        """Returns the source words and the target words that an aligner counts, as two lists."""
        read, written = [], []
        for part in translation.parts:
            source, target = self.ids(part)
            read += texts_of_words(self.tokenizer.source, source)
            written += texts_of_words(self.tokenizer.target, target)
        return read, written

    def confidence(self, translations):
        """Returns the confidence of each target word of each `Translation`."""
        parts, pairs = [part for each in translations for part in each.parts], []
        for index, each in enumerate(translations):
            with in_text(index):
                pairs += [self.short_ids(part, "rates the words") for part in each.parts]
        lengths = {index: max(map(len, pair)) for index, pair in enumerate(pairs)}
        of_parts = [None] * len(parts)
        for batch in batches(lengths, SCORED_TOKENS):
            outputs = self.outputs(SCORE_PIECES, [parts[index] for index in batch])
            for index, log_p in zip(batch, outputs["log_probabilities"], strict=True):
                target = pairs[index][1]
                words = of_words(self.tokenizer.target, target, log_p[: len(target)])
                of_parts[index] = words.tolist()
        rated = iter(of_parts)
        return [[word for _ in each.parts for word in next(rated)] for each in translations]

    def ids(self, part):
        """Returns the ids of a sentence and of its translation, with their ends."""
        sides = self.tokenizer.source, self.tokenizer.target
        return [[*side.encode([text])[0], END] for side, text in zip(sides, part, strict=True)]

    def short_ids(self, part, does):
        """Returns the ids of a part. Raises `ValueError` if it is too long for the signatures."""
        pair = self.ids(part)
        if self.is_long(pair):
            raise ValueError(
                f"an exported model {does} of sentences of fewer than {self.longest} pieces. "
                f"Received: {part[0][:60]!r}… with {len(pair[0]) - 1}, and {len(pair[1]) - 1} in "
                "its translation. Give the run, which has no such limit"
            )
        return pair

    def is_long(self, pair):
        return max(map(len, pair)) > self.longest

    def weights(self, part):
        """Returns the attention weights `[target, source]` by which words are aligned."""
        return self.outputs(ALIGN, [part])["weights"][0]

    def weights_or_order(self, part):
        """Returns the same, but weights between equal places if the part is too long."""
        pair = self.ids(part)
        if not self.is_long(pair):
            return self.weights(part)
        sources, targets = map(len, pair)
        weights, places = np.zeros((targets, sources)), np.arange(targets)
        weights[places, places * sources // targets] = 1
        return weights

    def outputs(self, name, parts):
        """Returns the outputs of a signature that takes texts and their translations."""
        texts, translations = (array_of(each) for each in zip(*parts, strict=True))
        return self.call(name, {"text": texts, "translation": translations})


def array_of(texts):
    """Returns strings as an array of bytes."""
    return np.array([text.encode() for text in texts], object)
