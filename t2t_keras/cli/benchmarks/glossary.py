"""Measures where the terms of a glossary stand in translations of the toy grammar, and the time."""

import difflib
import itertools
import re

from absl import flags

from t2t_keras.cli.benchmarks.decode import RUN, TRUST
from t2t_keras.cli.benchmarks.table import ROUNDS

SENTENCES = flags.DEFINE_integer(
    "sentences", 300, "glossary: number of sentences for each kind of term.", lower_bound=1
)
FLAGS, READS_CONFIG = (RUN, TRUST, SENTENCES, ROUNDS), False
SYSTEMS = {"LiteRT": "litert", "TensorFlow": "tensorflow"}
WAYS = ("no terms", "required phrases", "glossary")


def measure():
    from pipelines.toy.terms import KINDS, glossary_of, sentences_with_terms, terms_of
    from t2t_keras.runs import Run

    if not RUN.value:
        raise ValueError(
            "glossary needs --run, a run of the toy grammar, such as runs/quickstart, which "
            "t2t-train without flags writes"
        )
    run = Run(RUN.value)
    translators = {name: run.translator(engine=engine) for name, engine in SYSTEMS.items()}
    print(
        f"{RUN.value}: {SENTENCES.value} sentences with terms of each kind, medians of "
        f"{ROUNDS.value} rounds. required phrases: the search for phrases alone (--require)"
    )
    columns = ("phrases", "in the output", "in place", "BLEU", "ms a sentence")
    print(f"{'':<42}" + "".join(f"{column:>15}" for column in columns), flush=True)
    for kind in KINDS:
        terms = terms_of(kind)
        cases = [*itertools.islice(sentences_with_terms(terms), SENTENCES.value)]
        for name, translator in translators.items():
            for way, row in measured(translator, cases, glossary_of(terms)).items():
                print(
                    f"{f'{kind}, {name}, {way}':<42}" + "".join(f"{x:>15}" for x in row), flush=True
                )


def measured(translator, cases, entries):
    """Returns {way: cells of its row}.

    Args:
        translator: a `Translator`.
        cases: list of `TermSentence`s.
        entries: the glossary, {source phrase: target phrase}.
    """
    from pipelines.glossaries.glossary import Glossary
    from t2t_keras.evaluation.bleu import bleu
    from t2t_keras.reproduction.timing import median_seconds

    glossary, sources = Glossary(entries), [case.source for case in cases]
    options = {
        "no terms": {},
        "required phrases": {"require": [glossary.targets_in(source) for source in sources]},
        "glossary": {"glossary": glossary},
    }
    outputs = {}

    def call(way):
        outputs[way] = translator.translate(sources, split="off", **options[way])

    calls = [lambda way=way: call(way) for way in WAYS]
    seconds = median_seconds(calls, ROUNDS.value, warm_up=1)
    count, rows = sum(len(case.occurrences) for case in cases), {}
    for way, taken in zip(WAYS, seconds, strict=True):
        pairs = [*zip(outputs[way], cases, strict=True)]
        present = sum(present_terms(output, case) for output, case in pairs)
        in_place = sum(terms_in_place(output, case) for output, case in pairs)
        score = bleu(outputs[way], [case.reference for case in cases]).score
        rows[way] = (
            f"{count:,}",
            f"{100 * present / count:.1f} %",
            f"{100 * in_place / count:.1f} %",
            f"{score:.2f}",
            f"{1000 * taken / len(cases):.1f}",
        )
    return rows


def present_terms(output, case):
    """Returns how many terms of a `TermSentence` a translation contains."""
    words, needed = words_of(output), [each.term for each in case.occurrences]
    return sum(min(words.count(term), needed.count(term)) for term in set(needed))


def terms_in_place(output, case):
    """Returns how many terms of a `TermSentence` stand in their places in a translation.

    A term is in its place if it is aligned with itself in the reference, and the noun that it
    replaces does not remain.
    """
    sizes = [len(words_of(word)) for word in case.reference.split()]
    starts = [0, *itertools.accumulate(sizes)]
    expected, words = words_of(case.reference), words_of(output)
    blocks = difflib.SequenceMatcher(None, words, expected, False).get_matching_blocks()
    aligned = {place for block in blocks for place in range(block.b, block.b + block.size)}
    return sum(
        starts[each.place] in aligned
        and words.count(each.replaced) <= expected.count(each.replaced)
        for each in case.occurrences
    )


def words_of(text):
    return re.findall(r"\w+|[^\w\s]", text)
