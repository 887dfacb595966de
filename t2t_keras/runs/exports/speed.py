"""Measures how fast an export translates on this machine."""

import statistics
import time
from typing import NamedTuple

from t2t_keras.processor import processor_text

SENTENCES = 20  # number of sentences that are timed


class Speed(NamedTuple):
    """The time of a translation.

    Args:
        milliseconds: median time of one sentence.
        sentences: number of sentences.
        words: their mean number of words.
        processor: see `processor_text`.
    """

    milliseconds: float
    sentences: int
    words: float
    processor: str


def measured(translator, sentences):
    """Returns the `Speed` of translating sentences one by one, or None if there are none.

    Args:
        translator: a `Translator`.
        sentences: a list of texts. At most `SENTENCES` of them are used, evenly spread.
    """
    sentences = [text for text in sentences if text.strip()]
    count = min(len(sentences), SENTENCES)
    if not count:
        return None
    sentences = [sentences[index * len(sentences) // count] for index in range(count)]
    translator.translate(sentences[:1])  # the first call prepares the programs
    times = []
    for text in sentences:
        start = time.perf_counter()
        translator.translate([text])
        times.append(time.perf_counter() - start)
    words = statistics.mean(len(text.split()) for text in sentences)
    return Speed(1000 * statistics.median(times), count, words, processor_text())
