"""Puts the terms of a glossary in the places of the words that translate their source words.

A search for required phrases often appends a phrase to a complete translation. So a sentence with
terms is first translated without them. Then each term replaces the target words whose probability
falls most if the term's source words are left out of the source ("prediction difference", Li et al.
2019, ACL P19-1124). Cross-attention, where the model has it, weights these differences.

If a term has no clear place, the sentence is left to the search for required phrases.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.translating.calls import call_of
from t2t_keras.translating.terms import contains, occurrences, units_of

LEAST_DROP = 1.0  # minimum fall of log P of the words that a term replaces, unless attention agrees
ALMOST = 0.5  # minimum score or attention, relative to the best unit, of one that serves as well
MOST_SOURCES = 64  # maximum source words of a sentence's terms; each costs a row of log P
MOST_PIECES = 8, 4  # maximum pieces that a term replaces: 8, and 4 for each of its source pieces


class Draft(NamedTuple):
    """A translation without the terms."""

    index: int  # of the job
    text: Any
    job: Any  # with the terms
    translation: Any
    source: np.ndarray  # ids of the sentence
    target: np.ndarray  # ids of the translation

    def sources(self):
        """Returns the source and, for each source word of each term, the source without it."""
        words = [word for term in self.job.terms for word in term.words]
        return [self.source, *(np.delete(self.source, word) for word in words)]

    def limit(self):
        """Returns the maximum length of a translation with the terms."""
        engine, phrases = self.text.engine, self.job.phrases
        limit = len(self.source) + engine.config.extra_length + sum(map(len, phrases))
        longest = engine.longest
        return limit if longest is None else min(limit, longest)

    def rewritten(self, ids, log_p):
        """Returns the `Translation` with other ids, given log P of each."""
        (text,) = self.text.tokenizer.target.decode([ids])
        penalty = self.text.engine.config.length_penalty(float(len(ids)))
        score = float(np.sum(log_p, dtype="float64") / penalty)
        return self.translation._replace(text=text, score=score, parts=[(self.source, ids)])


class Place(NamedTuple):
    """Pieces of a translation, from start to stop, that the terms with these indices replace."""

    start: int
    stop: int
    terms: list


def with_terms(engine, texts, jobs, results, is_long):
    """Puts terms into translations, as a generator of `Call`s; see `Translator.steps`.

    `results` are the `Translation`s of each job without terms. A part that `is_long` is not
    aligned. Returns the `Translation`s with terms of each job, best first; none if the terms have
    no clear places. Those of jobs without terms stay as they are.
    """
    drafts = [
        Draft(index, texts[job.text_index], job, each, *each.parts[0])
        for index, job in enumerate(jobs)
        if job.terms and sum(len(term.words) for term in job.terms) <= MOST_SOURCES
        for each in results[index]
        if not is_long(each.parts[0])
    ]
    results = [[] if job.terms else found for job, found in zip(jobs, results, strict=True)]
    for draft, found in zip(drafts, (yield from rewritten(engine, drafts)), strict=True):
        others = results[draft.index]
        if found is not None and found.text not in [each.text for each in others]:
            others.append(found)
            others.sort(key=lambda each: -each.score)
    return results


def rewritten(engine, drafts):
    """Returns each draft's `Translation` with its terms, or None. A generator of `Call`s."""
    if not drafts:
        return []
    rows = [(source, draft.target) for draft in drafts for source in draft.sources()]
    log_p, weights = iter((yield call_of(engine, "log_p", rows))), [None] * len(drafts)
    log_p = [np.stack([next(log_p) for _ in draft.sources()]) for draft in drafts]
    if engine.has_attention:
        pairs = [(draft.source, draft.target) for draft in drafts]
        weights = yield call_of(engine, "attention", pairs)
    found = [ids_with_terms(*each) for each in zip(drafts, log_p, weights, strict=True)]
    pairs = {
        index: (draft.source, ids)
        for index, (ids, draft) in enumerate(zip(found, drafts, strict=True))
        if ids is not None and not np.array_equal(ids, draft.target)
    }
    results = [
        None if ids is None else draft.translation for ids, draft in zip(found, drafts, strict=True)
    ]
    log_p = (yield call_of(engine, "log_p", [*pairs.values()])) if pairs else []
    for index, of_row in zip(pairs, log_p, strict=True):
        results[index] = drafts[index].rewritten(found[index], of_row)
    return results


def ids_with_terms(draft, log_p, weights):
    """Returns the ids of a translation with the terms, or None if they have no clear places.

    `log_p` has a row for each of `draft.sources()`. `weights` is attention `[target, source]` or
    None.
    """
    tokenizer, job, target = draft.text.tokenizer.target, draft.job, draft.target
    units = units_of(tokenizer, target)
    scores = scores_of(job.terms, units, log_p, weights)
    places = places_of(job, units, scores, target, tokenizer.ends_phrase(target))
    if places is None:
        return None
    ids, at = [], 0
    for place in sorted(places):
        ids += [*target[at : place.start]]
        ids += [id for index in sorted(place.terms) for id in job.terms[index].ids]
        at = place.stop
    ids = np.array([*ids, *target[at:]], target.dtype)
    first = draft.text.engine.config.first
    may_begin = job.prefix or not first or ids[0] in first
    is_complete = contains(ids, job.phrases, tokenizer.ends_phrase(ids))
    return ids if may_begin and is_complete and len(ids) <= draft.limit() else None


def scores_of(terms, units, log_p, weights):
    """Returns, for each term, scores `[words, units]`, or None if no unit clearly depends on it.

    A score is how strongly a unit depends on a source word of the term: the fall of log P of the
    unit without the word, weighted by attention. Words that the rest predicts well depend little on
    it. Arguments as in `ids_with_terms`.
    """
    drops, found = log_p[:1] - log_p[1:], []
    for term in terms:
        own, drops = drops[: len(term.words)], drops[len(term.words) :]
        own = np.array([[each[u.start : u.stop].sum() for u in units] for each in own])
        scores, is_clear = np.maximum(own, 0), own.max(initial=0) >= LEAST_DROP
        if weights is not None and own.size:
            shares = [weights[:, list(word)].sum(axis=1) for word in term.words]
            shares = np.array([[each[u.start : u.stop].mean() for u in units] for each in shares])
            # The unit with the largest fall is among those with the most attention.
            is_clear |= shares[:, own.max(axis=0).argmax()].max() >= ALMOST * shares.max()
            scores = scores * shares
        found.append(scores if is_clear and scores.max(initial=0) > 0 else None)
    return found


def places_of(job, units, scores, target, ends_word):
    """Returns the `Place`s of a job's terms, or None if a term has no clear place.

    A term that is already in its place has no `Place`. Terms with the same place share it.
    `scores` come from `scores_of`; for `ends_word`, see `occurrences`.
    """
    if any(each is None for each in scores):
        return None
    owners, places = [None] * len(units), []  # owners: the place of each unit that is taken
    in_prefix = np.array([unit.start < len(job.prefix) for unit in units])
    for index in sorted(range(len(job.terms)), key=lambda index: -scores[index].max()):
        term, by_unit = job.terms[index], scores[index].max(axis=0)
        found = written(units, owners, by_unit, occurrences(target, term.ids, ends_word))
        if found:
            for unit in found:
                owners[unit] = Place(0, 0, [])
            continue
        free = np.array([owner is None for owner in owners])
        anchor = int(np.argmax(np.where(free, by_unit, -1)))
        if not free[anchor] or by_unit[anchor] < ALMOST * by_unit.max():
            owner = owners[int(np.argmax(by_unit))]
            if not owner.terms:  # the word of a term that needs no place
                return None
            owner.terms.append(index)
            continue
        free &= ~in_prefix
        if not free[anchor]:
            return None
        span = span_of(anchor, scores[index], units, free)
        place = Place(units[span[0]].start, units[span[-1]].stop, [index])
        least, each = MOST_PIECES
        if place.stop - place.start > least + each * sum(map(len, term.words)):
            return None
        for unit in span:
            owners[unit] = place
        places.append(place)
    return places


def written(units, owners, by_unit, spans):
    """Returns the units of a term where it already stands in its place, or an empty list.

    `by_unit` is the score of each unit, and `spans` are the occurrences of the term.
    """
    found = [
        [index for index, unit in enumerate(units) if unit.start < stop and unit.stop > start]
        for start, stop in spans
    ]
    found = [span for span in found if span and not any(owners[unit] for unit in span)]
    chosen = max(found, key=lambda span: by_unit[span].max(), default=[])
    return chosen if chosen and by_unit[chosen].max() >= ALMOST * by_unit.max() else []


def span_of(anchor, scores, units, free):
    """Returns the range of units that a term replaces, given its scores `[words, units]`.

    Each source word of the term adds the unit that depends on it most, if it is near the anchor,
    the free unit with the highest score. `free` says of each unit whether it may be replaced.
    """

    def joins(unit):
        return free[unit] and units[unit].stretch == units[anchor].stretch

    after = range(anchor, min(anchor + len(scores), len(units)))
    before = range(anchor, max(anchor - len(scores), -1), -1)
    first, last = min(itertools.takewhile(joins, before)), max(itertools.takewhile(joins, after))
    window = scores[:, first : last + 1]
    chosen = [first + int(row.argmax()) for row in window if row.max() > 0]
    return range(min([anchor, *chosen]), max([anchor, *chosen]) + 1)
