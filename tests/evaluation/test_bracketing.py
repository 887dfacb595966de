"""Bracket counts compared with counts by hand and with a second way of counting."""

import collections
import random

import pytest

from pipelines.text.treebank import parse
from t2t_keras.evaluation.bracketing import Bracketing, bracketing, compared, length, summed

# Brackets are given as label and span; the words before the colon have their positions.
# the 0  dog 1  sees 2  a 3  cat 4: S 0–5, NP 0–2, VP 2–5, NP 3–5
DOG = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))"
# S 0–4, NP 0–2, VP 2–4
FOUR = "(S (NP (DT a) (NN b)) (VP (VB c) (RB d)))"
# dogs 0  want 1  to 2  bark 3: S 0–4, NP 0–1, VP 1–4, S 2–4, VP 2–4, VP 3–4
TRACES = (
    "(S (NP-SBJ-1 (NNS dogs)) (VP (VBP want) (S (NP-SBJ (-NONE- *-1)) "
    "(VP (TO to) (VP (VB bark))))))"
)

# name: gold tree, parse, matched, gold, parsed and crossing brackets
BY_HAND = {
    # a 0  b 1: S 0–2, NP 0–1, VP 1–2, wherever punctuation is attached
    "punctuation attached elsewhere": (
        "(S (`` ``) (NP (NN a)) (, ,) (VP (VB b) (: ;)) ('' '') (. .))",
        "(S (NP (`` ``) (NN a) (, ,)) (VP (VB b)) (: ;) ('' '') (. .))",
        *(3, 3, 3, 0),
    ),
    # Brackets are words: PRN 1–4 in one tree, PRN 2–3 in the other.
    "round brackets count as words": (
        "(NP (NN a) (PRN (-LRB- -LRB-) (NN b) (-RRB- -RRB-)))",
        "(NP (NN a) (-LRB- -LRB-) (PRN (NN b)) (-RRB- -RRB-))",
        *(1, 2, 2, 0),
    ),
    "a root without a label": (f"( {FOUR})", f"(TOP {FOUR})", 3, 3, 3, 0),
    # S 0–4, NP 0–1, ADVP 1–2, VP 2–4, NP 3–4
    "function tags": (
        "(S-TPC-2 (NP-SBJ=3 (NN a)) (ADVP-TMP (RB b)) (VP=4 (VB c) (NP (NN d))))",
        "(S (NP (NN a)) (ADVP (RB b)) (VP (VB c) (NP-PRD (NN d))))",
        *(5, 5, 5, 0),
    ),
    # S 2–4 is missing
    "traces and a missing bracket": (
        *(TRACES, "(S (NP (NNS dogs)) (VP (VBP want) (VP (TO to) (VP (VB bark)))))"),
        *(5, 6, 5, 0),
    ),
    "only a tag": ("(NP (NN a))", "(NN a)", 0, 1, 0, 0),
    # S 0–2, NP 0–1, VP 1–2; PRN holds only punctuation of the gold tree
    "XX for every tag": (
        "(S (NP (NN a)) (, ,) (VP (VB b)) (. .))",
        "(S (NP (XX a) (XX ,)) (VP (XX b)) (PRN (XX .)))",
        *(3, 3, 3, 0),
    ),
    # The gold tree decides: ' is a word. a 0  ' 1  b 2: NP 0–3, and NP 0–2 or NP 0–1
    "a word tagged as punctuation by mistake": (
        "(NP (NP (NNS a) (POS ')) (NN b))",
        "(NP (NP (NNS a)) ('' ') (NN b))",
        *(1, 2, 2, 0),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_equal_those_by_hand(name):
    gold, other, *counts = BY_HAND[name]
    result = compared(parse(gold), parse(other))
    assert [result.matched, result.gold, result.parsed, result.crossing] == counts
    assert (result.sentences, result.failed) == (1, 0)
    assert result.complete == (result.matched == result.gold == result.parsed)


def test_a_failed_parse_misses_every_bracket():
    gold = parse(FOUR.replace("(RB d)", "(RB d) (NN .)"))
    for last in ("", "(RB see)", "(RB d) (NN e)", "(. d)"):
        assert compared(gold, parse(FOUR.replace("(RB d)", last))) == compared(gold, None)
    assert compared(gold, None) == Bracketing(sentences=1, failed=1, gold=3, words=5)
    assert not compared(parse("(S (NN a) (. .))"), parse("(S (NN a) (. !))")).failed
    assert compared(parse("(TOP (X (. .) (NP (-NONE- *))))"), None) == Bracketing(skipped=1)
    assert compared(parse("(S (NN a) (. .))"), parse("(S (NN b) (. .))")).failed


def test_a_treebank_is_scored_by_the_sums_of_its_counts():
    # Matched, gold and parsed brackets: 4, 4, 4; 1, 3, 2 and one of them crosses; 0, 3, 0.
    golds = [parse(DOG), parse(FOUR), parse(FOUR)]
    score, _ = bracketing(golds, [parse(DOG), parse("(S (DT a) (X (NN b) (RP c)) (RB d))"), None])
    assert (score.matched, score.gold, score.parsed) == (5, 10, 6)
    assert score.recall == pytest.approx(50)
    assert score.precision == pytest.approx(500 / 6)
    assert score.f1 == pytest.approx(2 * 50 * (500 / 6) / (50 + 500 / 6))
    assert score.complete_match == pytest.approx(100 / 3)
    assert score.average_crossing == pytest.approx(1 / 2), "per sentence with a parse"
    assert score.tagging_accuracy == pytest.approx(100 * (5 + 3) / (5 + 4 + 4))


def test_a_short_sentence_has_at_most_40_words_with_punctuation_without_traces():
    ends = ["(. .)", "(NN a) (. .)", "(NN a) (NP (-NONE- *))"]
    golds = [parse(f"(S {'(NN a) ' * 39}{end})") for end in ends]
    assert [length(gold) for gold in golds] == [40, 41, 40]
    total, short = bracketing(golds, golds)
    assert (total.sentences, short.sentences) == (3, 2)


def test_treebanks_that_do_not_correspond_are_refused():
    message = "as many parses as gold trees.*Received: 1 gold trees and 2 parses"
    with pytest.raises(ValueError, match=message):
        bracketing([parse(FOUR)], [parse(FOUR), None])
    with pytest.raises(ValueError, match="nothing to score"):
        bracketing([], [])


def test_counts_equal_those_of_trees_without_ignored_parts():
    """Counts a second way: brackets are the sets of their words, without punctuation."""
    choices = random.Random(0)
    results = []
    for _ in range(500):
        leaves = [f"({choices.choice(['NN', 'VB', ',', '.'])} w{n})" for n in range(8)]
        trees = [parse(random_brackets(choices, leaves)) for _ in range(2)]
        result = compared(*trees)
        if not result.skipped:
            gold, parsed = (collections.Counter(word_sets(tree)) for tree in trees)
            counts = ((gold & parsed).total(), gold.total(), parsed.total())
            assert (result.matched, result.gold, result.parsed) == counts
            assert result.complete == (gold == parsed)
            assert result.crossing == sum(
                count * any(words & other and words - other and other - words for _, other in gold)
                for (_, words), count in parsed.items()
            )
        results.append(result)
    total = summed(results)
    assert 0 < total.matched < total.gold and total.crossing and 0 < total.complete < 500


def random_brackets(choices, leaves):
    parts = list(leaves)
    for _ in range(choices.randint(1, 8)):
        start = choices.randrange(len(parts))
        end = choices.randint(start + 1, min(start + 3, len(parts)))
        label = choices.choice(["S", "NP", "NP-SBJ", "PRT", "ADVP", "TOP"])
        parts[start:end] = [f"({label} {' '.join(parts[start:end])})"]
    return f"(TOP {' '.join(parts)})"


def word_sets(tree):
    """Yields the label and the words of each bracket of a tree in which no word occurs twice."""
    if tree.is_leaf:
        return
    words = [leaf.children[0] for leaf in tree.leaves() if leaf.label not in (",", ".")]
    label = {"NP-SBJ": "NP", "PRT": "ADVP"}.get(tree.label, tree.label)
    if words and label != "TOP":
        yield label, frozenset(words)
    for child in tree.children:
        yield from word_sets(child)
