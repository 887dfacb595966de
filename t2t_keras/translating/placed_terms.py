"""Puts the terms of a glossary in the places of the words that translate their source words.

A search for required phrases often appends a phrase to a complete translation. So a sentence with
terms is first translated without them. Then each term replaces the target words whose probability
falls most if the term's source words are left out of the source ("prediction difference", Li et al.
2019, ACL P19-1124). Cross-attention, where the model has it, weights these differences.

If a term has no clear place, the sentence is left to the search for required phrases.
"""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.translating.calls import call_of
from t2t_keras.translating.terms import contains, occurrences, units_of

LEAST_DROP = 1.0  # minimum fall of log P of the words that a term replaces, unless attention agrees
ALMOST = 0.5  # minimum score or attention, relative to the best unit, of one that serves as well
MOST_SOURCES = 64  # maximum source words of a sentence's terms; each costs a row of log P
MOST_PIECES = 8, 4  # maximum pieces that a term replaces: 8, and 4 for each of its source pieces


class Draft(NamedTuple):
    """A translation without the terms.

    Args:
        text, job: the `Text` and the `Job`, with the terms.
        translation: the `Translation`.
        source, target: ids of the sentence and of the translation.
        limit: maximum length of a translation with the terms.
    """

    text: Any
    job: Any
    translation: Any
    source: np.ndarray
    target: np.ndarray
    limit: int

    def sources(self):
        """Returns the source and, for each source word of each term, the source without it."""
        words = [word for term in self.job.terms for word in term.words]
        return [self.source, *(np.delete(self.source, word) for word in words)]

    def is_short(self, is_long):
        """Returns whether the terms' words can be aligned; see `with_terms`."""
        count = sum(len(term.words) for term in self.job.terms)
        return count <= MOST_SOURCES and not is_long((self.source, self.target))

    def rewritten(self, ids, log_p):
        """Returns the `Translation` with other ids, given log P of each."""
        (text,) = self.text.tokenizer.target.decode([ids])
        penalty = self.text.search.config.length_penalty(float(len(ids)))
        score = float(np.sum(log_p, dtype="float64") / penalty)
        return self.translation._replace(text=text, score=score, parts=[(self.source, ids)])


class Evidence(NamedTuple):
    """How strongly each unit of a translation depends on each source word of a term."""

    drops: np.ndarray  # fall of log P without the word: [words, units]
    scores: np.ndarray  # the same, weighted by attention
    agrees: bool  # whether the unit with the largest fall is among those with the most attention

    @property
    def is_clear(self):
        """Whether the term has a place. Words that the rest predicts well depend little on it."""
        largest = self.drops.max(initial=0)
        return self.scores.max(initial=0) > 0 and (largest >= LEAST_DROP or self.agrees)


class Place(NamedTuple):
    """Pieces of a translation that terms replace.

    Args:
        start, stop: indices of the pieces.
        terms: indices of the terms.
    """

    start: int
    stop: int
    terms: list


def with_terms(engine, texts, jobs, results, is_long):
    """Puts terms into translations, as a generator of `Call`s; see `Translator.steps`.

    Args:
        engine: the engine that computes log P and attention.
        texts, jobs: the `Text`s and `Job`s.
        results: for each job, its `Translation`s without terms.
        is_long: function that takes a part and returns whether it is too long to be aligned.

    Returns:
        For each job with terms, its `Translation`s with terms, best first; none if the terms have
        no clear places. For each other job, its `Translation`s as they are.
    """
    drafts, indices = [], []
    for index, (job, found) in enumerate(zip(jobs, results, strict=True)):
        if job.terms:
            text = texts[job.text_index]
            own = [draft_of(text, job, each, engine.longest) for each in found]
            own = [draft for draft in own if draft.is_short(is_long)]
            drafts += own
            indices += [index] * len(own)
    found = (yield from rewritten(engine, drafts)) if drafts else []
    results = [[] if job.terms else of_job for job, of_job in zip(jobs, results, strict=True)]
    for index, translation in zip(indices, found, strict=True):
        known = [each.text for each in results[index]]
        if translation is not None and translation.text not in known:
            results[index].append(translation)
            results[index].sort(key=lambda each: -each.score)
    return results


def draft_of(text, job, translation, longest):
    """Returns the `Draft` of a job's `Translation`; `longest` is that of the engine."""
    ((source, target),) = translation.parts
    limit = len(source) + text.search.config.extra_length + sum(map(len, job.phrases))
    limit = limit if longest is None else min(limit, longest)
    return Draft(text, job, translation, source, target, limit)


def rewritten(engine, drafts):
    """Returns each draft's `Translation` with its terms, or None. A generator of `Call`s."""
    sources = [draft.sources() for draft in drafts]
    rows = [
        (source, draft.target)
        for draft, of_draft in zip(drafts, sources, strict=True)
        for source in of_draft
    ]
    log_p = iter((yield call_of(engine, "log_p", rows)))
    log_p = [np.stack([next(log_p) for _ in of_draft]) for of_draft in sources]
    weights = [None] * len(drafts)
    if can_align(engine):
        pairs = [(draft.source, draft.target) for draft in drafts]
        weights = yield call_of(engine, "attention", pairs)
    found = [ids_with_terms(*each) for each in zip(drafts, log_p, weights, strict=True)]
    translations = [
        None if ids is None else draft.translation for ids, draft in zip(found, drafts, strict=True)
    ]
    changed = [
        index
        for index, (ids, draft) in enumerate(zip(found, drafts, strict=True))
        if ids is not None and not np.array_equal(ids, draft.target)
    ]
    if changed:
        pairs = [(drafts[index].source, found[index]) for index in changed]
        log_p = yield call_of(engine, "log_p", pairs)
        for index, of_row in zip(changed, log_p, strict=True):
            translations[index] = drafts[index].rewritten(found[index], of_row)
    return translations


def can_align(engine):
    """Returns whether an engine has attention that aligns words."""
    try:
        engine.check_attention()
    except ValueError:
        return False
    return True


def ids_with_terms(draft, log_p, weights):
    """Returns the ids of a translation with the terms, or None if they have no clear places.

    Args:
        draft: the `Draft`.
        log_p: log P of each token of the translation, for each of `draft.sources()`.
        weights: attention weights `[target, source]`, or None.
    """
    tokenizer, job, target = draft.text.tokenizer.target, draft.job, draft.target
    units = units_of(tokenizer, target)
    evidence = evidence_of(job.terms, units, log_p, weights)
    places = places_of(job, units, evidence, target, tokenizer.ends_phrase(target))
    if places is None:
        return None
    ids, at = [], 0
    for place in sorted(places):
        ids += [*target[at : place.start]]
        ids += [id for index in sorted(place.terms) for id in job.terms[index].ids]
        at = place.stop
    ids = np.array([*ids, *target[at:]], target.dtype)
    first = draft.text.search.config.first
    may_begin = job.prefix or not first or ids[0] in first
    is_complete = contains(ids, job.phrases, tokenizer.ends_phrase(ids))
    return ids if may_begin and is_complete and len(ids) <= draft.limit else None


def evidence_of(terms, units, log_p, weights):
    """Returns the `Evidence` for each term; arguments as in `ids_with_terms`."""
    drops, evidence = log_p[:1] - log_p[1:], []
    for term in terms:
        own, drops = drops[: len(term.words)], drops[len(term.words) :]
        own = np.array([[each[u.start : u.stop].sum() for u in units] for each in own])
        scores, agrees = np.maximum(own, 0), False
        if weights is not None:
            shares = [weights[:, list(word)].sum(axis=1) for word in term.words]
            shares = np.array([[each[u.start : u.stop].mean() for u in units] for each in shares])
            unit = own.max(axis=0).argmax() if own.size else None
            agrees = own.size and shares[:, unit].max() >= ALMOST * shares.max()
            scores = scores * shares
        evidence.append(Evidence(own, scores, bool(agrees)))
    return evidence


def places_of(job, units, evidence, target, ends_word):
    """Returns the `Place`s of a job's terms, or None if a term has no clear place.

    A term that already stands in its place has no `Place`. Terms with the same place share it.

    Args:
        job: the `Job`.
        units: the `Unit`s of the translation.
        evidence: the `Evidence` for each term.
        target: ids of the translation.
        ends_word: see `occurrences`.
    """
    owners, places = [None] * len(units), []  # owners: the place of each unit that is taken
    in_prefix = [unit.start < len(job.prefix) for unit in units]
    best = [each.scores.max(initial=0) for each in evidence]
    for index in sorted(range(len(job.terms)), key=lambda index: -best[index]):
        term, scores = job.terms[index], evidence[index].scores
        if not evidence[index].is_clear:
            return None
        by_unit = scores.max(axis=0)
        found = written(term, units, owners, by_unit, occurrences(target, term.ids, ends_word))
        if found:
            for unit in found:
                owners[unit] = Place(0, 0, [])
            continue
        free = np.array([owner is None for owner in owners])
        anchor = int(np.argmax(np.where(free, by_unit, -1)))
        if not free[anchor] or by_unit[anchor] < ALMOST * best[index]:
            owner = owners[int(np.argmax(by_unit))]
            if not owner.terms:  # the word of a term that needs no place
                return None
            owner.terms.append(index)
            continue
        span = span_of(anchor, scores, units, free & ~np.array(in_prefix))
        if span is None:
            return None
        place = Place(units[span[0]].start, units[span[-1]].stop, [index])
        least, each = MOST_PIECES
        if place.stop - place.start > least + each * sum(map(len, term.words)):
            return None
        for unit in span:
            owners[unit] = place
        places.append(place)
    return places


def written(term, units, owners, by_unit, spans):
    """Returns the units of the term where it already stands in its place, or an empty list.

    Args:
        term: the `Term`.
        units, owners: see `places_of`.
        by_unit: score of each unit.
        spans: the occurrences of the term.
    """
    found = [
        [index for index, unit in enumerate(units) if unit.start < stop and unit.stop > start]
        for start, stop in spans
    ]
    found = [span for span in found if span and not any(owners[unit] for unit in span)]
    chosen = max(found, key=lambda span: by_unit[span].max(), default=[])
    return chosen if chosen and by_unit[chosen].max() >= ALMOST * by_unit.max() else []


def span_of(anchor, scores, units, free):
    """Returns the range of units that a term replaces, or None if the anchor is not free.

    Each source word of the term adds the unit that depends on it most, if it is near the anchor.

    Args:
        anchor: index of the unit with the highest score.
        scores: see `Evidence`.
        units: the `Unit`s.
        free: booleans: whether each unit may be replaced.
    """
    if not free[anchor]:
        return None
    first = last = anchor
    while (
        last + 1 - anchor < len(scores)
        and last + 1 < len(units)
        and joins(units, free, last + 1, anchor)
    ):
        last += 1
    while anchor - first + 1 < len(scores) and first > 0 and joins(units, free, first - 1, anchor):
        first -= 1
    window = scores[:, first : last + 1]
    chosen = [first + int(row.argmax()) for row in window if row.max() > 0]
    return range(min([anchor, *chosen]), max([anchor, *chosen]) + 1)


def joins(units, free, unit, anchor):
    return free[unit] and units[unit].stretch == units[anchor].stretch
