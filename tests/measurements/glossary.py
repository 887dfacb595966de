"""Measures where the terms of a glossary stand in translations of the toy grammar, and the time.

PYTHONPATH=. python tests/measurements/glossary.py runs/quickstart
"""

import argparse
import difflib
import itertools
import re

from toy_terms import KINDS, glossary_of, sentences_with_terms, terms_of

from pipelines.glossaries.glossary import Glossary
from t2t_keras.evaluation.bleu import bleu
from t2t_keras.reproduction.timing import median_seconds
from t2t_keras.runs import Run

COLUMNS = ("phrases", "in the output", "in place", "BLEU", "ms a sentence")


def rows(translator, cases, glossary, rounds):
    """Yields the name of a way to use the glossary, and its cells in the table."""
    sources = [case.source for case in cases]
    ways = {
        "no terms": {},
        "required phrases": {"require": [glossary.targets_in(source) for source in sources]},
        "glossary": {"glossary": glossary},
    }
    calls = [
        lambda options=options: translator.translate(sources, split="off", **options)
        for options in ways.values()
    ]
    seconds = median_seconds(calls, rounds, warm_up=1)
    count = sum(len(case.occurrences) for case in cases)
    for way, call, taken in zip(ways, calls, seconds, strict=True):
        outputs = call()
        counts = itertools.starmap(terms_in, zip(outputs, cases, strict=True))
        shares = [f"{100 * sum(each) / count:.1f} %" for each in zip(*counts, strict=True)]
        score = bleu(outputs, [case.reference for case in cases]).score
        yield way, (f"{count:,}", *shares, f"{score:.2f}", f"{1000 * taken / len(cases):.1f}")


def terms_in(output, case):
    """Returns how many terms of a `TermSentence` a translation has, and how many in their places.

    A term is in its place if it is aligned with itself in the reference, and the noun that it
    replaces does not remain.
    """
    needed, words = [each.term for each in case.occurrences], words_of(output)
    present = sum(min(words.count(term), needed.count(term)) for term in set(needed))
    starts = [0, *itertools.accumulate(len(words_of(word)) for word in case.reference.split())]
    expected = words_of(case.reference)
    blocks = difflib.SequenceMatcher(None, words, expected, False).get_matching_blocks()
    aligned = {place for block in blocks for place in range(block.b, block.b + block.size)}
    in_place = sum(
        starts[each.place] in aligned
        and words.count(each.replaced) <= expected.count(each.replaced)
        for each in case.occurrences
    )
    return present, in_place


def words_of(text):
    return re.findall(r"\w+|[^\w\s]", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="run of the toy grammar, which t2t-train without flags writes")
    parser.add_argument("--sentences", type=int, default=300, help="sentences per kind of term")
    parser.add_argument("--rounds", type=int, default=3, help="timed calls; medians are printed")
    given = parser.parse_args()
    run = Run(given.run)
    print(f"{'':<42}" + "".join(f"{column:>15}" for column in COLUMNS))
    for kind in KINDS:
        terms = terms_of(kind)
        cases = [*itertools.islice(sentences_with_terms(terms), given.sentences)]
        for engine in ("litert", "tensorflow"):
            glossary, translator = Glossary(glossary_of(terms)), run.translator(engine=engine)
            for way, cells in rows(translator, cases, glossary, given.rounds):
                row = "".join(f"{cell:>15}" for cell in cells)
                print(f"{f'{kind}, {engine}, {way}':<42}{row}", flush=True)
