"""`Translator`: translates texts with any engine, and implements the options of `Request`."""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from pipelines.tokenizers.tags import chosen_tag, tagged
from t2t_keras.decoding.batches import LONGEST
from t2t_keras.decoding.rows import END, PADDING
from t2t_keras.translating.calls import Call, answered, call_of, driven
from t2t_keras.translating.minimum_bayes_risk import best_of_parts
from t2t_keras.translating.placed_terms import with_terms
from t2t_keras.translating.request import TextError, one_or_many, requests_of
from t2t_keras.translating.scoring import PairScore
from t2t_keras.translating.sentences import joined_texts
from t2t_keras.translating.texts import alike, jobs_of, texts_of
from t2t_keras.translating.words import Words, joined_words, weights_by_order, words_of


class Translation(NamedTuple):
    """One translation of a text."""

    text: str  # with markup if the request keeps it
    # log P, divided by the length penalty; with `mbr`, the expected utility. The sum of all parts.
    score: float
    parts: list  # (source ids, translation ids) of each part of the text, including the end tokens
    # the `Words` of the text without markup, if the request asks for alignments or confidence
    words: Any = None
    confidence: list | None = None  # a probability for each word of the translation, if requested

    @property
    def alignment(self):
        """The aligned words, as (source word, target word) indices."""
        return self.words.pairs


EMPTY = Translation("", 0.0, [])
OF_WORDS = ("words", "confidence")


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
        translator.translate(["The dog sleeps."], beam=8)
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

    def translate_document(self, path, output, on_progress=lambda count: None, **options):
        """Translates a document and writes it to a file of the same kind.

        Args:
            path, output: files such as "report.docx". The output is complete or absent.
            **options: `column`, `retranslate` and `final`, see `pipelines.documents.Options`; and
                the options of `translations`.

        Returns a dict with the numbers of segments and words, and of skipped ones by reason.
        """
        from t2t_keras.translating.documents import translate_document

        return translate_document(self, path, output, on_progress, **options)

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

    def score(self, pairs, on_progress=lambda count: None, first_line=1):
        """Returns the `PairScore` of each pair, or of a single pair.

        Args:
            pairs: a list of (source, target), or one of them. An empty text is scored as an end
                token alone.
            on_progress: called with the share of the work done so far, as a number of pairs.
            first_line: line number of the first pair, for error messages.
        """
        if len(pairs) == 2 and all(isinstance(each, str) for each in pairs):
            return self.score([pairs], on_progress, first_line)[0]
        columns, longest = {}, self.engine.longest
        for place, side in enumerate(("source", "target")):
            texts = [pair[place] for pair in pairs]
            encoded = getattr(self.tokenizer, side).encode(texts) if texts else []
            for line, ids in enumerate(encoded, first_line):
                if longest is not None and len(ids) >= longest:
                    raise ValueError(
                        f"line {line}: a {side} must have at most {longest} pieces, including its "
                        f"end: the model has no positions for more. Received: {len(ids) + 1} "
                        "pieces. Shorten the text, or leave the pair out"
                    )
            columns[side] = [np.append(ids, END) for ids in encoded]
        found = answered(Call(self.engine, "log_p", columns), lambda done, _: on_progress(done))
        return [PairScore(*each) for each in zip(columns["target"], found, strict=True)]

    def check(self, options, **own):
        """Checks options, and returns the `SearchConfig` of texts with these options.

        Args:
            options: see `translations`.
            **own: `prefixes` and `require` for this one text, if they vary by text.

        Raises `ValueError` if the model does not support the options.
        """
        (text,) = texts_of(requests_of([""], **own, **options), self.engine, self.tokenizer_for)
        if text.request.alignments or text.request.markup:
            text.engine.check_attention()
        config = text.engine.config
        return config.changed(n_best=text.risk.count) if text.risk else config

    def steps(self, requests, first_index=0, check_texts=lambda texts: None):
        """Translates requests as a generator; see `translations`.

        The generator yields `Call`s, is sent the result of each row, and returns the translations.
        So the caller decides which rows share a batch, and how to wait for results.

        Args:
            requests, first_index: see `translations`.
            check_texts: called with the `Text`s, divided into sentences, before they are encoded.
        """
        texts = texts_of(requests, self.engine, self.tokenizer_for)
        check_texts(texts)
        jobs = jobs_of(texts, self.longest)
        sentences = [[[] for _ in text.sentences] for text in texts]
        translated = yield from self.translated(texts, jobs, first_index)
        for job, result in best_of_parts(texts, jobs, translated):
            sentences[job.text_index][job.sentence_index].append(result or [EMPTY])
        # From here on, a list for each text, and in it for each rank a tuple of its parts.
        sizes = [[len(parts) or 1 for parts in of_text] for of_text in sentences]
        results = [
            [*zip(*(part for parts in of_text for part in parts or [[EMPTY]]), strict=False)]
            for of_text in sentences
        ]
        yield from self.add_words(texts, results)
        return [
            [finished(text, parts, of_text) for parts in ranks]
            for text, ranks, of_text in zip(texts, results, sizes, strict=True)
        ]

    def translated(self, texts, jobs, first_index):
        """Yields `Call`s; returns the `Translation`s of each job, with its terms, best first."""
        drafts = [job._replace(phrases=job.others) if job.terms else job for job in jobs]
        drafts = yield from self.searched(texts, drafts, first_index)
        results = yield from with_terms(self.engine, texts, jobs, drafts, self.is_long)
        counts = [texts[job.text_index].engine.config.n_best for job in jobs]
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
            engine = texts[job.text_index].engine
            kind = bool(job.phrases), bool(job.terms), engine.config != self.engine.config
            return *kind, bool(job.prefix), engine.kind, repr(engine.config)

        groups = sorted(alike(jobs, way), key=lambda group: way(jobs[group[0]])[:4])
        for group in groups:
            chosen = [jobs[index] for index in group]
            columns = {
                "source": [np.append(job.ids, END).astype("int32") for job in chosen],
                "index": [first_index + job.text_index + job.draw for job in chosen],
            }
            for name in ("prefix", "phrases"):
                if getattr(chosen[0], name):
                    columns[name] = [getattr(job, name) for job in chosen]
            engine = texts[chosen[0].text_index].engine
            found = yield Call(engine, "search", columns, done, total)
            done += len(group)
            for index, job, hypotheses in zip(group, chosen, found, strict=True):
                results[index] = translations_of(job, hypotheses, texts[job.text_index])
        return results

    def add_words(self, texts, results):
        """Yields `Call`s, and adds words, alignments and confidence to the parts of results."""
        rated = [text.request.confidence for text in texts]
        asked = [text.request.alignments for text in texts]
        aligned = [
            is_asked or (text.marked is not None and text.marked.has_marks)
            for text, is_asked in zip(texts, asked, strict=True)
        ]
        for text in itertools.compress(texts, aligned):
            text.engine.check_attention()
        self.check_lengths(texts, results, rated, "rates the words")
        self.check_lengths(texts, results, asked, "aligns the words")
        short = [part for part in ids_of(results, aligned) if not self.is_long(part)]
        log_p = yield from self.called("log_p", ids_of(results, rated))
        attention = yield from self.called("attention", short)

        def with_words(tokenizer, part, is_rated, is_aligned):
            if not part.parts:
                words = Words([], [], [] if is_aligned else None)
                return part._replace(words=words, confidence=[] if is_rated else None)
            (ids,) = part.parts
            weights = None
            if is_aligned:
                weights = weights_by_order(*ids) if self.is_long(ids) else next(attention)
            found = words_of(tokenizer, *ids, weights, next(log_p) if is_rated else None)
            return part._replace(words=found[0], confidence=found[1])

        for index, wanted in enumerate(zip(rated, aligned, strict=True)):
            if any(wanted):
                tokenizer = texts[index].tokenizer
                results[index] = [
                    [with_words(tokenizer, part, *wanted) for part in parts]
                    for parts in results[index]
                ]

    def check_lengths(self, texts, results, wanted, does):
        """Rejects a part of the wanted texts that is too long; `does` says for what, as a verb."""
        if self.longest_aligned is None:
            return
        for index in itertools.compress(range(len(texts)), wanted):
            for source, target in filter(self.is_long, ids_of(results[index : index + 1], [True])):
                raise TextError(
                    index,
                    f"a server {does} of sentences of fewer than {self.longest_aligned} "
                    f"pieces. Received: {texts[index].request.text[:60]!r}… with "
                    f"{len(source) - 1}, and {len(target) - 1} in its translation. Use "
                    "t2t-translate, which has no such limit",
                )

    def is_long(self, part):
        return self.longest_aligned is not None and max(map(len, part)) > self.longest_aligned

    def called(self, method, pairs):
        """Yields a `Call` for pairs of ids, if there are any; returns an iterator of results."""
        return iter((yield call_of(self.engine, method, pairs)) if pairs else [])


def ids_of(results, wanted):
    """Returns the (source, target) ids of all parts of the wanted texts' translations."""
    chosen = itertools.compress(results, wanted)
    return [ids for ranks in chosen for parts in ranks for part in parts for ids in part.parts]


def finished(text, parts, sizes):
    """Returns the `Translation` of a text, with its markup.

    `sizes` are the numbers of parts of each sentence.
    """
    parts, sentences = iter(parts), []
    for size in sizes:
        own = [*itertools.islice(parts, size)]
        sentences.append(joined(own, " ".join(filter(None, (each.text for each in own)))))
    if text.marked is not None:
        kept = [text.phrases(index) for index in range(len(sentences))]
        kept[0] = [text.request.prefix, *kept[0]]
        written = text.marked.marked(sentences, kept)
    else:  # line breaks between sentences are kept
        written = joined_texts([each.text for each in sentences], text.separators)
    return joined(sentences, written)


def joined(translations, text):
    """Joins `Translation`s of successive stretches; `text` is the text of the result."""
    words, confidence = ([getattr(each, name) for each in translations] for name in OF_WORDS)
    return Translation(
        text,
        sum(each.score for each in translations),
        [ids for each in translations for ids in each.parts],
        joined_words(words) if words[0] is not None else None,
        [each for of_part in confidence for each in of_part] if confidence[0] is not None else None,
    )


def translations_of(job, hypotheses, text):
    """Returns the `Translation`s of a job, given its `Hypotheses`."""
    tokens, scores = (part[: text.engine.config.n_best] for part in hypotheses)
    source = np.append(job.ids, END)
    found = zip(text.tokenizer.target.decode(tokens), scores, tokens, strict=True)
    return [
        Translation(written, float(score), [(source, ids[ids != PADDING])])
        for written, score, ids in found
        if np.isfinite(score)
    ]
