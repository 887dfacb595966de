"""Held-out text for evaluation during training: batches for the loss, sentences for BLEU."""

import hashlib
from typing import NamedTuple

from t2t_keras.evaluation.bleu import bleu


class Example(NamedTuple):
    source: str
    reference: str
    output: str


class TranslationResults(NamedTuple):
    metrics: dict  # {name: value} for `metrics.jsonl`
    examples: list  # of `Example`s


class HeldOut:
    """Sentence pairs that are kept out of the training text.

    Args:
        data: data set with a method `distributed(strategy)` that returns the batches of one pass.
        sources, references: the sentences and their reference translations.
        translator: object with a method `translate(texts, on_progress)` that returns a translation
            of each text, and calls `on_progress` with the number of texts translated so far.
        shown: number of example translations; see `typical`.
        name: name of the set, or "" if it is the only set.
        tag: tag before each source, or None.
    """

    def __init__(self, data, sources, references, translator, shown=3, name="", tag=None):
        self.data, self.sources, self.references = data, sources, references
        self.translator, self.shown, self.name, self.tag = translator, shown, name, tag

    @property
    def digest(self):
        """Digest of the sentences and their references."""
        texts = repr([list(self.sources), list(self.references)])
        return hashlib.blake2b(texts.encode(), digest_size=8).hexdigest()

    def distributed(self, strategy):
        return self.data.distributed(strategy)

    def translate(self, on_progress=lambda done, total: None):
        """Translates all sentences; returns `TranslationResults` with their BLEU.

        `on_progress` is called with the numbers of sentences translated so far and in all.
        """
        total = len(self.sources)
        on_progress(0, total)  # the first batch may take long: its search is compiled
        outputs = self.translator.translate(
            list(self.sources), lambda done: on_progress(done, total)
        )
        score = bleu(outputs, self.references)
        chosen = typical(self.sources, self.shown)
        return TranslationResults(
            metrics={"bleu": score.score, "bleu_signature": score.signature},
            examples=[Example(self.sources[i], self.references[i], outputs[i]) for i in chosen],
        )


def typical(texts, count):
    """Returns the indices, in ascending order, of distinct texts closest to the median length."""
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    indices = sorted(first.values(), key=lambda index: (len(texts[index]), index))
    median = len(texts[indices[len(indices) // 2]]) if indices else 0
    closest = sorted(indices, key=lambda index: (abs(len(texts[index]) - median), index))
    return sorted(closest[:count])
