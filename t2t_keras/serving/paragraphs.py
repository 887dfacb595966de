"""Texts of several sentences in a request: a row for each sentence, and their joined answers."""

import numpy as np

from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.sentences import joined_sentences, whole, with_codes
from t2t_keras.translating.translator import Translation

SPLIT = "split"  # input of a signature: whether to split a text


class Paragraphs:
    """The rows of a request, split into sentences.

    Attributes:
        inputs: arrays by name, with a row for each sentence.
        are_sentences: whether each text has a single sentence.

    Args:
        inputs: arrays by name, with a row for each text.
        split_sentences: function from a text to its sentences and the separators between them.
        split: whether texts are split if `inputs` do not say so.
        limits: `Limits`.
        split_code: see `with_codes`. None: the model has no language codes.
    """

    def __init__(self, inputs, split_sentences, split, limits, split_code=None):
        texts = inputs["text"]
        wanted = inputs.get(SPLIT, np.full(len(texts), split))
        if "require" in inputs:  # a text with phrases of its own is one sentence
            wanted = wanted & (inputs["require"] == b"")
        divided = [
            (split_sentences if each else whole)(text.decode("utf-8", "replace"))
            for text, each in zip(texts, wanted, strict=True)
        ]
        self.counts = [len(sentences) for sentences, _ in divided]
        self.separators = [separators for _, separators in divided]
        rows = sum(self.counts)
        check_sentences(rows, limits)
        self.inputs, self.are_sentences = inputs, rows == len(texts)
        if not self.are_sentences:
            self.inputs = {
                name: np.repeat(array, self.counts, axis=0) for name, array in inputs.items()
            }
            sentences = [
                sentence
                for sentences, _ in divided
                for sentence in (with_codes(sentences, split_code) if split_code else sentences)
            ]
            self.inputs["text"] = np.array([each.encode() for each in sentences], object)
            is_first = np.diff(np.repeat(np.arange(len(texts)), self.counts), prepend=-1) > 0
            if "prefix" in inputs:  # only the first sentence of a text begins with its prefix
                self.inputs["prefix"] = np.where(is_first, self.inputs["prefix"], b"")
        if SPLIT in inputs:
            self.inputs = self.inputs | {SPLIT: np.zeros(rows, bool)}

    def joined(self, outputs):
        """Returns the `translations` and `scores` of the texts, given those of their sentences."""
        starts = np.cumsum([0, *self.counts[:-1]])
        results = {name: array[starts] for name, array in outputs.items()}
        for row, (start, count) in enumerate(zip(starts, self.counts, strict=True)):
            if count > 1:
                of_sentences = [list_of(outputs, index) for index in range(start, start + count)]
                fill(results, row, joined_sentences(of_sentences, self.separators[row]))
        return results


def check_sentences(count, limits):
    """Rejects a request with too many sentences."""
    if count > limits.rows:
        raise Refusal(
            413,
            f"The texts of the request have {count:,} sentences; at most {limits.rows:,} are "
            "allowed. Send fewer or shorter texts",
        )


def list_of(outputs, row):
    """Returns a row of outputs as `Translation`s, best first."""
    texts, scores = (np.ravel(outputs[name][row]) for name in ("translations", "scores"))
    return [
        Translation(text.decode(), float(score), [])
        for text, score in zip(texts, scores, strict=True)
        if score != NO_SCORE
    ]


def fill(outputs, row, translations):
    """Sets a row of outputs to `Translation`s."""
    shape = outputs["scores"].shape[1:]
    texts, scores = np.full(shape, b"", object).ravel(), np.full(shape, NO_SCORE).ravel()
    for rank, each in enumerate(translations):
        texts[rank], scores[rank] = each.text.encode(), each.score
    outputs["translations"][row] = texts.reshape(shape) if shape else texts[0]
    outputs["scores"][row] = scores.reshape(shape) if shape else scores[0]
