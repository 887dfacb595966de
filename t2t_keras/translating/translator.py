"""`Translator`: translates texts with any engine, and implements the options of `Request`."""

import functools
from typing import Any, NamedTuple

import numpy as np

from pipelines.tokenizers.tags import chosen_tag, tagged
from t2t_keras.decoding.batches import LONGEST
from t2t_keras.decoding.rows import END, PADDING
from t2t_keras.translating.calls import Call, driven
from t2t_keras.translating.placed_terms import with_terms
from t2t_keras.translating.request import TextError, one_or_many, requests_of
from t2t_keras.translating.sentences import joined_sentences, on_one_line
from t2t_keras.translating.texts import alike, jobs_of, texts_of
from t2t_keras.translating.words import confidence_of_words, weights_by_order, words_of


class Translation(NamedTuple):
    """One translation of a text.

    Args:
        text: the translation, with markup if the request keeps it.
        score: log P, divided by the length penalty; the sum for a text of several parts.
        parts: (source ids, translation ids) of each part of the text, including the end tokens.
        words: the `Words` of the text without markup, if the request asks for alignments or
            confidence.
        confidence: a probability for each word of the translation, if the request asks for it.
    """

    text: str
    score: float
    parts: list
    words: Any = None
    confidence: list | None = None

    @property
    def alignment(self):
        """The aligned words, as (source word, target word) indices."""
        return self.words.pairs


EMPTY = Translation("", 0.0, [])


class Translator:
    """Translates lists of texts.

    A sentence of more than `longest` tokens is cut into parts, between two words where possible.
    Its translation joins the translations of the parts.

    Args:
        engine: an engine; see `engines/engine.py`.
        to: see `Request`. It applies to requests without `to`.
        longest_aligned: maximum tokens of a part, in the source and in the translation, for
            alignments and confidence. None: no maximum.

    Example:

        translator = load_translator("runs/mine/export")
        translator.translate("The dog sleeps.")
        translator.translate(["The dog sleeps.", "The cat, too."], beam=8)
        translator.translations(["The <b>dog</b> sleeps."], markup="html", confidence=True)
    """

    def __init__(self, engine, to=None, longest_aligned=None):
        self.engine, self.to, self.longest_aligned = engine, to, longest_aligned
        self.longest = min(engine.longest or LONGEST, LONGEST)
        self.tokenizer_for = functools.cache(self.new_tokenizer)

    @property
    def tokenizer(self):
        """The tokenizer that prepends the tag for `to` to each source."""
        return self.tokenizer_for(None)

    def new_tokenizer(self, to):
        return tagged(self.engine.tokenizer, chosen_tag(to or self.to, self.engine.tags))

    @one_or_many
    def translate(self, texts, on_progress=lambda count: None, **options):
        """Returns the best translation of each text as a string; see `translations`."""
        return [each.text for each in self.best_of_each(texts, on_progress, **options)]

    @one_or_many
    def best_of_each(self, texts, on_progress=lambda count: None, **options):
        """Returns the best `Translation` of each text; see `translations`."""
        results = self.translations(texts, on_progress, **{"n_best": 1, **options})
        return [best for best, *_ in results]

    @one_or_many
    def translations(self, texts, on_progress=lambda count: None, first_index=0, **options):
        """Translates each text.

        Args:
            texts: a list of strings or `Request`s, or one of them, whose result is then returned
                alone. The translation of an empty text is empty.
            on_progress: called with the share of the work done so far, as a number of texts.
            first_index: index of the first text; sampling seeds each text by its index.
            **options: `prefixes` and `require` (lists, one item per text), and any `Request` field,
                applied to all texts.

        Returns:
            A list of one or more `Translation`s for each text, best first.

        Raises:
            TextError: a text cannot be translated with its options.
        """
        requests = requests_of(texts, **options)

        def advanced(done, total):
            on_progress(len(requests) * done // total)

        return driven(self.steps(requests, first_index), advanced)

    def check(self, options, **own):
        """Checks options, and returns the `SearchConfig` of texts with these options.

        Args:
            options: see `translations`.
            **own: `prefixes` and `require` for this one text, if they vary by text.

        Raises:
            ValueError: the model does not support the options.
        """
        (text,) = texts_of(requests_of([""], **own, **options), self.engine, self.tokenizer_for)
        if text.request.alignments or text.request.markup:
            text.search.engine.check_attention()
        return text.search.config

    def steps(self, requests, first_index=0, check_texts=lambda texts: None):
        """Translates requests as a generator; see `translations`.

        The generator yields `Call`s, is sent the result of each row, and returns the translations.
        So the caller decides which rows share a batch, and how to wait for results.

        Args:
            requests, first_index: see `translations`.
            check_texts: called with the `Text`s, which are divided into sentences, before they are
                encoded.
        """
        texts = texts_of(requests, self.engine, self.tokenizer_for)
        check_texts(texts)
        jobs = jobs_of(texts, self.longest)
        parts = [[[] for _ in text.sentences] for text in texts]
        translated = yield from self.translated(texts, jobs, first_index)
        for job, result in zip(jobs, translated, strict=True):
            parts[job.text_index][job.sentence_index].append(result)
        results = [
            joined_sentences([joined(each) for each in of_text], text.separators)
            for of_text, text in zip(parts, texts, strict=True)
        ]
        results = yield from self.with_confidence(texts, results)
        results = yield from self.with_words(texts, results)
        return [
            [self.finished(text, each) for each in of_text]
            for text, of_text in zip(texts, results, strict=True)
        ]

    def translated(self, texts, jobs, first_index):
        """Yields `Call`s; returns the `Translation`s of each job, with its terms, best first."""
        drafts = [job.without_terms() for job in jobs]
        drafts = yield from self.searched(texts, drafts, first_index)
        results = yield from with_terms(self.engine, texts, jobs, drafts, self.is_long)
        counts = [texts[job.text_index].search.config.n_best for job in jobs]
        few = [i for i, job in enumerate(jobs) if job.terms and len(results[i]) < counts[i]]
        again = [jobs[index] for index in few]
        found = yield from self.searched(texts, again, first_index, len(jobs) - len(few))
        for index, others in zip(few, found, strict=True):
            known = {each.text for each in results[index]}
            results[index] += [each for each in others if each.text not in known]
            del results[index][counts[index] :]
        return results

    def searched(self, texts, jobs, first_index, done=0):
        """Yields `Call`s that search for jobs; returns the `Translation`s of each job, best first.

        Rows with the same kind of search share a `Call`. Rows without options and phrases come
        first. `done` is the number of jobs that are finished already.
        """
        results, total = [None] * len(jobs), done + len(jobs)

        def way(job):
            search = texts[job.text_index].search
            options = tuple(search.options)
            kind = search.engine.kind, repr(search.engine.config)
            return bool(job.phrases), bool(job.terms), options, bool(job.prefix), *kind

        groups = sorted(alike(jobs, way), key=lambda group: way(jobs[group[0]])[:4])
        for group in groups:
            chosen = [jobs[index] for index in group]
            engine = texts[chosen[0].text_index].search.engine
            columns = self.columns(texts, chosen, first_index)
            found = yield Call(engine, "search", columns, done, total)
            done += len(group)
            for index, job, hypotheses in zip(group, chosen, found, strict=True):
                results[index] = translations_of(job, hypotheses, texts[job.text_index])
        return results

    def columns(self, texts, jobs, first_index):
        """Returns the columns of a `Call` for jobs with the same kind of search."""
        columns = {
            "source": [np.append(job.ids, END).astype("int32") for job in jobs],
            "index": [first_index + job.text_index for job in jobs],
        }
        for name in ("prefix", "phrases"):
            if getattr(jobs[0], name):
                columns[name] = [getattr(job, name) for job in jobs]
        searches = [texts[job.text_index].search for job in jobs]
        return columns | {
            name: [search.options[name] for search in searches] for name in searches[0].options
        }

    def with_confidence(self, texts, results):
        """Yields a `Call` for log P; returns the results with the confidence of their words."""
        wanted = [text.request.confidence for text in texts]
        parts = self.parts(texts, results, wanted, "rates the words")
        found = iter((yield self.call("log_p", parts)) if parts else [])
        rate = functools.partial(confidence_of_words, self.engine.tokenizer.target)

        def rated(each):
            words = [rate(target, next(found)) for _, target in each.parts]
            return each._replace(confidence=[word for of_part in words for word in of_part])

        return [
            [rated(each) for each in of_text] if is_wanted else of_text
            for of_text, is_wanted in zip(results, wanted, strict=True)
        ]

    def with_words(self, texts, results):
        """Yields a `Call` for attention; returns the results with their words and alignments."""
        wanted = [
            text.request.alignments or (text.marked is not None and text.marked.has_marks)
            for text in texts
        ]
        for text, is_wanted in zip(texts, wanted, strict=True):
            if is_wanted:
                text.search.engine.check_attention()
        asked = [text.request.alignments for text in texts]
        self.parts(texts, results, asked, "aligns the words")  # only rejects long parts
        parts = self.parts(texts, results, wanted)
        short = [part for part in parts if not self.is_long(part)]
        found = iter((yield self.call("attention", short)) if short else [])

        def weights(part):
            return weights_by_order(*part) if self.is_long(part) else next(found)

        def worded(each, text, is_wanted):
            aligned = [weights(part) for part in each.parts] if is_wanted else None
            return each._replace(words=words_of(text.tokenizer, each.parts, aligned))

        return [
            [worded(each, text, is_wanted) for each in of_text]
            if is_wanted or text.request.confidence
            else of_text
            for of_text, text, is_wanted in zip(results, texts, wanted, strict=True)
        ]

    def parts(self, texts, results, wanted, does=None):
        """Returns the parts of the wanted texts' translations.

        Args:
            texts, results: the `Text`s, and the `Translation`s of each text.
            wanted: booleans, one for each text.
            does: verb phrase for the error about a part that is too long. If None, no part is
                rejected.
        """
        chosen = []
        for index, (text, of_text) in enumerate(zip(texts, results, strict=True)):
            parts = [part for each in of_text for part in each.parts] if wanted[index] else []
            for source, target in parts if does else []:
                if self.is_long((source, target)):
                    raise TextError(
                        index,
                        f"a server {does} of sentences of fewer than {self.longest_aligned} "
                        f"pieces. Received: {text.request.text[:60]!r}… with {len(source) - 1}, "
                        f"and {len(target) - 1} in its translation. Use t2t-translate, which has "
                        "no such limit",
                    )
            chosen += parts
        return chosen

    def is_long(self, part):
        return self.longest_aligned is not None and max(map(len, part)) > self.longest_aligned

    def call(self, method, parts):
        sources, targets = zip(*parts, strict=True)
        return Call(self.engine, method, {"source": sources, "target": targets})

    def finished(self, text, translation):
        """Restores the source's markup, or puts a single-sentence translation on one line."""
        if text.marked is not None:
            own = text.requirements, text.request.prefix, translation.words
            marked = text.marked.marked(translation.text, *own, text.tokenizer.source.split_code)
            return translation._replace(text=marked)
        if len(text.sentences) == 1:  # line breaks between sentences are kept
            return translation._replace(text=on_one_line(translation.text))
        return translation


def translations_of(job, hypotheses, text):
    """Returns the `Translation`s of a job, given its `Hypotheses`."""
    tokens, scores = (part[: text.search.config.n_best] for part in hypotheses)
    source = np.append(job.ids, END)
    found = zip(text.tokenizer.target.decode(tokens), scores, tokens, strict=True)
    return [
        Translation(written, float(score), [(source, ids[ids != PADDING])])
        for written, score, ids in found
        if np.isfinite(score)
    ]


def joined(parts):
    """Joins the translations of a sentence's parts by rank: all best ones, all second-best ones, …

    The translation of a sentence without parts, or of a part without hypotheses, is empty.
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
