"""Translation of texts: encoding, batching by length, search, decoding."""

from typing import NamedTuple

import numpy as np

from t2t_keras.decoding.batches import LONGEST, batches, padded
from t2t_keras.decoding.special_ids import END, PADDING
from t2t_keras.translating.required_phrases import Requirements, padded_phrases
from t2t_keras.translating.sentence_parts import halves_of, parts_of
from t2t_keras.translating.sentences import joined_sentences, whole, with_codes
from t2t_keras.translating.text_error import in_text


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
    phrases: list  # ids of each phrase that its translation must contain


class Translator:
    """Translates lists of texts.

    A sentence of more than `longest` tokens is cut into parts, between two words where possible.
    Its translation joins the translations of the parts.

    Args:
        tokenizer: has a `source` and a `target`, both with `encode(texts)`. The source has
            `begins_word`, a boolean array: whether the piece of each id begins a word;
            `lead(ids)`: how many of the ids begin each part of a source; and `split_code(text)`:
            see `with_codes`. Both have `decode(sequences)`.
        decode: function from source ids `[rows, length]`, the indices of the texts, and ids
            `[rows, prefix_length]` that the outputs must begin with, or None, to `Hypotheses`.
            Its fourth argument is `phrases` of `search`; batches without phrases have none.
        batch_tokens: maximum rows × length of a batch; a longer text is a batch of its own.
        longest: maximum tokens of a source, including its end.
        phrases: a `PhraseEncoder`. None: no phrases can be required.
    """

    def __init__(self, tokenizer, decode, batch_tokens=4096, longest=None, phrases=None):
        self.tokenizer, self.decode, self.batch_tokens = tokenizer, decode, batch_tokens
        self.longest = min(longest or LONGEST, LONGEST)
        self.phrases = phrases

    def translate(
        self,
        texts,
        on_progress=lambda count: None,
        prefixes=None,
        first_index=0,
        split=whole,
        requirements=None,
    ):
        """Translates each text.

        Args:
            texts: a list. The translation of an empty text is empty.
            on_progress: called with the number of texts translated so far.
            prefixes: for each text, the text that its translations begin with. None: no prefixes.
            first_index: index of the first text, which selects its random numbers in sampling.
            split: function from a text to its sentences and the separators between them. By
                default, a text is one sentence.
            requirements: `Requirements`: phrases that translations must contain. None: no phrases.

        Returns:
            A list of one or more `Translation`s for each text, best first.

        Raises:
            TextError: for a text whose phrases cannot be required.
        """
        requirements = Requirements() if requirements is None else requirements
        divided = [
            (whole if requirements.of_text(index) else split)(text)
            for index, text in enumerate(texts)
        ]
        split_code = self.tokenizer.source.split_code
        sentences = [with_codes(sentences, split_code) for sentences, _ in divided]
        jobs = self.jobs(sentences, prefixes, requirements)
        translations, done = [None] * len(jobs), 0
        for batch in self.batches(jobs):
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

    def batches(self, jobs):
        """Yields lists of indices of jobs; those with phrases are in batches of their own."""
        for constrained in (False, True):
            lengths = {
                index: len(job.ids) + 1
                for index, job in enumerate(jobs)
                if bool(job.phrases) == constrained
            }
            yield from batches(lengths, self.batch_tokens)

    def jobs(self, texts, prefixes, requirements):
        """Returns a `Job` for each part of each sentence.

        Args:
            texts: a list of sentences for each text.
            prefixes: a prefix for each text, or None. Only its first part has the prefix.
            requirements: `Requirements`.
        """
        flat = [sentence for sentences in texts for sentence in sentences]
        encoded = iter(self.tokenizer.source.encode(flat) if flat else [])
        starts = [[] for _ in texts]
        if prefixes is not None:
            starts = [list(ids) for ids in self.tokenizer.target.encode(prefixes)]
        jobs = []
        for index, (sentences, start) in enumerate(zip(texts, starts, strict=True)):
            for sentence_index, sentence in enumerate(sentences):
                with in_text(index):
                    parts = self.parts(next(encoded), sentence, index, requirements)
                    for part, phrases in parts:
                        ids = self.phrases.ids_of(phrases, start) if phrases else []
                        jobs.append(Job(index, sentence_index, part, start, ids))
                        start = []
        return jobs

    def parts(self, ids, sentence, index, requirements):
        """Divides a sentence that is too long for one search, or whose glossary phrases are.

        Args:
            ids: of the sentence.
            sentence: the sentence.
            index: index of its text.
            requirements: `Requirements`.

        Returns:
            The ids of each part and the phrases that its translation must contain, as pairs.
        """
        parts = parts_of(ids, self.tokenizer.source, self.longest - 1)
        _, sentence = self.tokenizer.source.split_code(sentence)
        phrases = requirements.of_sentence(sentence, index)
        if not phrases:
            return [(part, []) for part in parts]
        if self.phrases is None:
            raise ValueError("this model cannot search for required phrases. Use a run")
        if not parts:
            raise ValueError(
                f"the translation of an empty text is empty, so it cannot contain {phrases[0]!r}. "
                "Require nothing of it"
            )
        if len(parts) == 1 and not self.phrases.are_long(phrases):
            return [(parts[0], phrases)]
        count = 0
        while count < len(parts):
            count = len(parts)
            divided, others = requirements.of_parts(self.texts_of(parts), sentence, index)
            parts = [
                half
                for part, of_part in zip(parts, divided, strict=True)
                for half in (
                    halves_of(part, self.tokenizer.source)
                    if self.phrases.are_long(of_part)
                    else [part]
                )
            ]
        divided[0] += others
        return list(zip(parts, divided, strict=True))

    def texts_of(self, parts):
        """Returns the texts of parts, without the ids that apply to the whole sentence."""
        source = self.tokenizer.source
        return source.decode([part[source.lead(part) :] for part in parts])

    def translate_batch(self, jobs, first_index):
        """Yields the `Translation`s of each job."""
        source = padded([[*job.ids, END] for job in jobs], self.longest)
        prefix = None
        if any(job.prefix for job in jobs):
            prefix = padded([job.prefix for job in jobs])
        indices = [first_index + job.text_index for job in jobs]
        inputs = [source, indices, prefix]
        if any(job.phrases for job in jobs):
            inputs.append(padded_phrases([job.phrases for job in jobs]))
        tokens, scores = (np.asarray(part) for part in self.decode(*inputs))
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
