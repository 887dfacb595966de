"""Held-out text for evaluation during training: batches for the loss, sentences for BLEU."""

import dataclasses
import hashlib

from t2t_keras.evaluation.bleu import bleu


@dataclasses.dataclass(frozen=True)
class Example:
    """A translation to show with its source and reference."""

    source: str
    reference: str
    output: str


@dataclasses.dataclass(frozen=True)
class TranslationResults:
    """The results of translating the held-out text.

    Args:
        metrics: values by name, for `metrics.jsonl`.
        examples: `Example`s to show.
    """

    metrics: dict
    examples: list


class HeldOut:
    """Sentence pairs that are kept out of the training text.

    Args:
        data: `data.distributed(strategy)` returns the batches of one pass.
        sources, references: the sentences.
        translator: `translator.translate(texts)` returns the translation of each text.
        shown: number of example translations, see `typical`.
        name: name of the set. "": it is the only one.
        tag: tag of the sources, or None.
    """

    def __init__(self, data, sources, references, translator, shown=3, name="", tag=None):
        self.data, self.sources, self.references = data, sources, references
        self.translator, self.shown, self.name, self.tag = translator, shown, name, tag

    @property
    def digest(self):
        """A digest of the sentences."""
        texts = repr([list(self.sources), list(self.references)])
        return hashlib.blake2b(texts.encode(), digest_size=8).hexdigest()

    def distributed(self, strategy):
        return self.data.distributed(strategy)

    def translate(self):
        """Translates all sentences and returns `TranslationResults` with BLEU."""
        outputs = self.translator.translate(list(self.sources))
        score = bleu(outputs, self.references)
        chosen = typical(self.sources, self.shown)
        return TranslationResults(
            metrics={"bleu": score.score, "bleu_signature": score.signature},
            examples=[Example(self.sources[i], self.references[i], outputs[i]) for i in chosen],
        )


def typical(texts, count):
    """Returns the indices of different texts whose lengths are closest to the median, in order."""
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    indices = sorted(first.values(), key=lambda index: (len(texts[index]), index))
    median = len(texts[indices[len(indices) // 2]]) if indices else 0
    closest = sorted(indices, key=lambda index: (abs(len(texts[index]) - median), index))
    return sorted(closest[:count])
