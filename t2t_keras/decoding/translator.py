"""Translation of texts: encoding, batching by length, search, decoding."""

from typing import NamedTuple

import numpy as np

from t2t_keras.decoding.batches import batches, padded
from t2t_keras.decoding.sentences import joined_sentences, whole
from t2t_keras.decoding.special_ids import END, PADDING

LONGEST = 1024  # tokens of a source, including its end


class Translation(NamedTuple):
    """One translation of a text."""

    text: str
    score: float
    parts: list  # for each part of the text: (source ids, translation ids), including the ends


EMPTY = Translation("", 0.0, [])


class Job(NamedTuple):
    """A sentence to translate, or one part of a sentence that is too long."""

    text_index: int
    sentence_index: int
    ids: np.ndarray
    prefix: list


class Translator:
    """Translates lists of texts.

    A sentence of more than `longest` tokens is cut into parts, between two words where possible.
    Its translation joins the translations of the parts.

    Args:
        tokenizer: has a `source` and a `target`, both with `encode(texts)`. The source has
            `begins_word`, a boolean array: whether the piece of each id begins a word, and
            `start`: ids that begin every source. The target has `decode(sequences)`.
        decode: function from source ids `[rows, length]`, the indices of the texts, and ids
            `[rows, prefix_length]` that the outputs must begin with, or None, to `Hypotheses`.
        batch_tokens: maximum rows × length of a batch; a longer text is a batch of its own.
        longest: maximum tokens of a source, including its end.
    """

    def __init__(self, tokenizer, decode, batch_tokens=4096, longest=None):
        self.tokenizer, self.decode, self.batch_tokens = tokenizer, decode, batch_tokens
        self.longest = min(longest or LONGEST, LONGEST)

    def translate(
        self,
        texts,
        on_progress=lambda count: None,
        prefixes=None,
        first_index=0,
        split=whole,
    ):
        """Translates each text.

        Args:
            texts: a list. The translation of an empty text is empty.
            on_progress: called with the number of texts translated so far.
            prefixes: for each text, the text that its translations begin with. None: no prefixes.
            first_index: index of the first text, which selects its random numbers in sampling.
            split: function from a text to its sentences and the separators between them. By
                default, a text is one sentence.

        Returns:
            A list of one or more `Translation`s for each text, best first.
        """
        divided = [split(text) for text in texts]
        jobs = self.jobs([sentences for sentences, _ in divided], prefixes)
        translations, done = [None] * len(jobs), 0
        lengths = {index: len(job.ids) + 1 for index, job in enumerate(jobs)}
        for batch in batches(lengths, self.batch_tokens):
            results = self.translate_batch([jobs[index] for index in batch], first_index)
            for index, result in zip(batch, results, strict=True):
                translations[index] = result
            done += len(batch)
            on_progress(len(texts) * done // len(jobs))
        parts = [[[] for _ in sentences] for sentences, _ in divided]
        for job, result in zip(jobs, translations, strict=True):
            parts[job.text_index][job.sentence_index].append(result)
        return [
            joined_sentences([joined(each) for each in of_text], separators)
            for of_text, (_, separators) in zip(parts, divided, strict=True)
        ]

    def jobs(self, texts, prefixes):
        """Returns a `Job` for each part of each sentence.

        Args:
            texts: a list of sentences for each text.
            prefixes: a prefix for each text, or None. Only its first part has the prefix.
        """
        flat = [sentence for sentences in texts for sentence in sentences]
        encoded = iter(self.tokenizer.source.encode(flat) if flat else [])
        starts = [[] for _ in texts]
        if prefixes is not None:
            starts = [list(ids) for ids in self.tokenizer.target.encode(prefixes)]
        jobs = []
        for index, (sentences, start) in enumerate(zip(texts, starts, strict=True)):
            for sentence_index, _ in enumerate(sentences):
                for part in self.parts(next(encoded)):
                    jobs.append(Job(index, sentence_index, part, start))
                    start = []
        return jobs

    def parts(self, ids):
        """Splits the ids of a sentence into parts that are short enough, as long as possible.

        Each part begins with the ids that begin every source, if there are any.
        """
        start = self.tokenizer.source.start
        ids, room = ids[len(start) :], self.longest - 1 - len(start)
        begins = self.tokenizer.source.begins_word[ids]
        cuts = [0]
        while len(ids) - cuts[-1] > room:
            first, last = cuts[-1] + 1, cuts[-1] + room
            words = np.flatnonzero(begins[first : last + 1])
            cuts.append(first + words[-1] if len(words) else last)
        parts = np.split(ids, cuts[1:]) if len(ids) else []
        return [np.concatenate([start, part]).astype(ids.dtype) for part in parts]

    def translate_batch(self, jobs, first_index):
        """Yields the `Translation`s of each job."""
        source = padded([[*job.ids, END] for job in jobs], self.longest)
        prefix = None
        if any(job.prefix for job in jobs):
            prefix = padded([job.prefix for job in jobs])
        indices = [first_index + job.text_index for job in jobs]
        tokens, scores = (np.asarray(part) for part in self.decode(source, indices, prefix))
        for job, hypotheses, job_scores in zip(jobs, tokens, scores, strict=True):
            texts = self.tokenizer.target.decode(hypotheses)
            yield [
                Translation(text, float(score), [([*job.ids, END], ids[ids != PADDING])])
                for text, score, ids in zip(texts, job_scores, hypotheses, strict=True)
                if np.isfinite(score)
            ]


def joined(parts):
    """Joins the translations of a sentence's parts by rank: all best ones, all second-best ones, …

    Without parts, the translation is empty, and so is that of a part without hypotheses.
    """
    parts = [part or [EMPTY] for part in parts or [[]]]
    if len(parts) == 1:
        return parts[0]
    return [
        Translation(
            " ".join(part.text for part in ranked if part.text),
            sum(part.score for part in ranked),
            [ids for part in ranked for ids in part.parts],
        )
        for ranked in zip(*parts, strict=False)
    ]
