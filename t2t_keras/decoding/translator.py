"""Text in, text out: sentences are put together by length, and come back in their order."""

from typing import NamedTuple

import numpy as np

from t2t_keras.decoding.batches import batches, padded
from t2t_keras.decoding.hypotheses import END, PADDING

LONGEST = 1024  # tokens of a source, its end included


class Translation(NamedTuple):
    """One translation of a text."""

    text: str
    score: float
    parts: list  # (ids of the source, ids of the translation), ends included; see `Translator`


class Job(NamedTuple):
    """A text to be translated, or a part of one that is too long."""

    text: int  # the number of the text
    ids: np.ndarray
    prefix: list


class Translator:
    """Translates lists of texts.

    A text of more than `longest` tokens is cut into parts, between two words if it can be; what
    is found for them is put together again.

    Args:
        tokenizer: has `encode(texts)`, `decode(sequences)` and `begins_word`, which says of each
            id whether it begins a word.
        decode: called with source ids `[rows, length]`, the numbers of the texts, and ids
            `[rows, prefix_length]` that the outputs begin with, or None; gives `Hypotheses`.
        batch_tokens: rows × length of a batch, at most (one row is always taken).
        longest: tokens of a source, its end included.
    """

    def __init__(self, tokenizer, decode, batch_tokens=4096, longest=None):
        self.tokenizer, self.decode, self.batch_tokens = tokenizer, decode, batch_tokens
        self.longest = min(longest or LONGEST, LONGEST)

    def translate(self, texts, advanced=lambda count: None, prefixes=None, first=0):
        """The translations of each text.

        Args:
            texts: a list. A text without a token is translated to nothing.
            advanced: called with the number of texts that are done so far.
            prefixes: texts, one for each, that the translations begin with. None: no such.
            first: the number of the first text. What sampling draws depends on it.

        Returns:
            For each text a list of `Translation`s, the best first.
        """
        jobs = self.jobs(texts, prefixes)
        found, done = [None] * len(jobs), 0
        lengths = {number: len(job.ids) + 1 for number, job in enumerate(jobs)}
        for batch in batches(lengths, self.batch_tokens):
            of_batch = self.translate_batch([jobs[number] for number in batch], first)
            for number, translations in zip(batch, of_batch, strict=True):
                found[number] = translations
            done += len(batch)
            advanced(len(texts) * done // len(jobs))
        results = [[] for _ in texts]
        for job, translations in zip(jobs, found, strict=True):
            results[job.text].append(translations)
        return [joined(parts) for parts in results]

    def jobs(self, texts, prefixes):
        encoded = self.tokenizer.encode(texts) if texts else []
        starts = [[] for _ in texts]
        if prefixes is not None:
            starts = [list(ids) for ids in self.tokenizer.encode(prefixes)]
        jobs = []
        for number, (ids, start) in enumerate(zip(encoded, starts, strict=True)):
            parts = self.parts(ids)
            jobs += [Job(number, part, [] if i else start) for i, part in enumerate(parts)]
        return jobs

    def parts(self, ids):
        """The ids of a text; of one that is too long, those of its parts."""
        room, begins = self.longest - 1, self.tokenizer.begins_word[ids]
        cuts = [0]
        while len(ids) - cuts[-1] > room:
            first, last = cuts[-1] + 1, cuts[-1] + room
            words = np.flatnonzero(begins[first : last + 1])
            cuts.append(first + words[-1] if len(words) else last)
        return np.split(ids, cuts[1:]) if len(ids) else []

    def translate_batch(self, jobs, first):
        source = padded([[*job.ids, END] for job in jobs], self.longest)
        prefix = None
        if any(job.prefix for job in jobs):
            prefix = padded([job.prefix for job in jobs])
        numbers = [first + job.text for job in jobs]
        tokens, scores = (np.asarray(part) for part in self.decode(source, numbers, prefix))
        for job, hypotheses, of_job in zip(jobs, tokens, scores, strict=True):
            found = zip(self.tokenizer.decode(hypotheses), of_job, hypotheses, strict=True)
            yield [
                Translation(text, float(score), [([*job.ids, END], ids[ids != PADDING])])
                for text, score, ids in found
                if np.isfinite(score)
            ]


def joined(parts):
    """The translations of a text, from those of its parts: the best of each, the second, …"""
    if len(parts) == 1:
        return parts[0]
    if not parts or not all(parts):
        return [Translation("", 0.0, [])]
    return [
        Translation(
            " ".join(part.text for part in ranked if part.text),
            sum(part.score for part in ranked),
            [ids for part in ranked for ids in part.parts],
        )
        for ranked in zip(*parts, strict=False)
    ]
