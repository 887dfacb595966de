import gzip
import random
from collections import Counter

import pytest

from pipelines.text.sources import SourceError
from pipelines.text.treebank import (
    DEEPEST,
    LEAVES,
    TreebankPairs,
    linearized,
    parse,
    read_trees,
    repair,
    without_traces,
    write_mixed,
)

SENTENCE = "(S (NP (PRP I)) (VP (VBP see) (NP (DT the) (NN dog))) (. .))"


def random_tree(choices, depth=0):
    if depth > 4 or choices.random() < 0.3:
        return f"({choices.choice(['NN', '-LRB-', ',', 'XX'])} {choices.choice('abc')})"
    children = [random_tree(choices, depth + 1) for _ in range(choices.randint(1, 3))]
    return f"({choices.choice(['S', 'NP', 'NP-SBJ', ''])} {' '.join(children)})"


DEEP = f"{'(S ' * (DEEPEST - 1)}(NN dog){')' * (DEEPEST - 1)}"


def test_random_trees_are_restored():
    choices = random.Random(0)
    for text in [DEEP, "( (S (NN dog)))", *(random_tree(choices) for _ in range(500))]:
        tree = parse(text)
        has_only_xx = all(leaf.label == "XX" for leaf in tree.leaves())
        for leaves in LEAVES:
            words, brackets = linearized(tree, leaves)
            restored, is_exact = repair(words, brackets, leaves)
            assert is_exact and linearized(restored, leaves) == (words, brackets)
            assert (str(restored) == str(tree)) == (leaves == "tag" or has_only_xx)


def test_the_form_of_leaves_among_brackets():
    for leaves, brackets in {
        "tag": "(S (NP PRP )NP (VP VBP (NP DT NN )NP )VP . )S",
        "XX": "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S",
        "word": "(S (NP I )NP (VP see (NP the dog )NP )VP . )S",
    }.items():
        assert linearized(parse(SENTENCE), leaves) == (
            ["I", "see", "the", "dog", "."],
            brackets.split(),
        )
    with pytest.raises(ValueError, match=r"`leaves` must be one of .* Received: leaves='pos'"):
        TreebankPairs("any", "pos")


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        ("(S XX XX )S", "(S (XX a) (XX b))"),
        ("(S XX XX", "(S (XX a) (XX b))"),
        ("(S XX )NP XX )S", "(S (XX a) (XX b))"),
        ("(S XX XX XX XX )S", "(S (XX a) (XX b))"),
        ("(S XX )S", "(TOP (S (XX a)) (XX b))"),
        ("(S (NP )NP XX (VP (NP )NP )VP XX )S", "(S (XX a) (XX b))"),
        ("", "(TOP (XX a) (XX b))"),
    ],
)
def test_wrong_brackets_are_repaired(brackets, expected):
    tree, exact = repair(["a", "b"], brackets.split(), "XX")
    assert str(tree) == expected
    assert exact == (brackets == "(S XX XX )S")
    with pytest.raises(ValueError, match="at least one word"):
        repair([], brackets.split())


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        ("(S (NP b )NP (VP c d )VP )S", "(S (NP (XX a) (XX b)) (VP (XX c) (XX d)))"),
        ("(S (NP a )NP (VP x d )VP )S", "(S (NP (XX a)) (VP (XX b) (XX c) (XX d)))"),
        ("(S (NP x y )NP a b c d )S", "(S (XX a) (XX b) (XX c) (XX d))"),
        ("(S (NP a b )NP )S", "(S (NP (XX a) (XX b) (XX c) (XX d)))"),
    ],
)
def test_leaves_that_are_words_are_aligned_with_the_sentence(brackets, expected):
    tree, exact = repair(["a", "b", "c", "d"], brackets.split(), "word")
    assert str(tree) == expected and not exact


@pytest.mark.parametrize("leaves", LEAVES)
def test_random_brackets_become_a_tree_over_the_words(leaves):
    choices = random.Random(0)
    tokens = ["(A", "(B", ")A", ")B", "XX", "w0", "w1"]
    for _ in range(1500):
        words = [f"w{number}" for number in range(choices.randint(1, 5))]
        brackets = choices.choices(tokens, k=choices.randint(0, 12))
        tree, exact = repair(words, brackets, leaves)
        assert tree.words() == words
        assert str(parse(str(tree))) == str(tree)
        assert exact == (linearized(tree, leaves) == (words, brackets))


def test_trees_of_several_lines_and_compressed_files_are_read(tmp_path):
    text = f"( (S\n  (NP (NN a))\n\n  (VP (VB b)) ))\n{SENTENCE}\n(X (Y y)) (X (Z z))\n"
    (tmp_path / "trees.mrg.gz").write_bytes(gzip.compress(text.encode()))
    trees = [str(tree) for tree in read_trees(tmp_path / "*.mrg.gz")]
    assert trees == ["( (S (NP (NN a)) (VP (VB b))))", SENTENCE, "(X (Y y))", "(X (Z z))"]


def test_traces_and_function_tags_are_removed():
    tree = parse(
        "(S (NP-SBJ-1 (NNS dogs)) (VP (VBP want) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) "
        "(VP (VB bark))))) (-LRB- -LRB-) (PRT|ADVP (RP up)) (NP=2 (NN x)))"
    )
    assert str(without_traces(tree)) == (
        "(S (NP (NNS dogs)) (VP (VBP want) (S (VP (TO to) (VP (VB bark))))) "
        "(-LRB- -LRB-) (PRT (RP up)) (NP (NN x)))"
    )
    assert without_traces(parse("(S (NP (-NONE- *)))")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n(S (NN b)))", r"line 2: '\)' is outside of all trees"),
        ("(S (NN a))\n(S\n(NN b)\n", "line 2: the tree that begins here .*: 1 closing"),
        ("(S (NP ) (NN a))", r"line 1: the constituent \(NP\) is empty"),
        ("(S\n (NP a (NN b)))", r"line 2: in \(NP …\), a word must be the only child"),
        ("(S " * 3000, "line 1: more than 300 nested constituents"),
    ],
)
def test_malformed_files_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "bad.clean"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError, match=message):
        list(TreebankPairs(path))


def test_a_treebank_yields_pairs_of_words_and_brackets(tmp_path):
    path = tmp_path / "trees"
    path.write_text(f"{SENTENCE}\n(S (NP-SBJ (NN a)))\n(S (-NONE- *))\n")
    source = TreebankPairs(path)
    assert list(source) == [
        (b"I see the dog .", b"(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"),
        (b"a", b"(S (NP XX )NP )S"),
    ]
    assert source.symbols() == ["(NP", "(S", "(VP", ")NP", ")S", ")VP"]
    assert source.fingerprint() != TreebankPairs(path, leaves="tag").fingerprint()


@pytest.mark.parametrize(
    ("ratio", "counts"), [(None, (3, 8)), (1.0, (8, 8)), (2.0, (4, 8)), (4.0, (3, 12))]
)
def test_the_mixture_repeats_the_treebank_that_is_too_small_for_the_ratio(tmp_path, ratio, counts):
    gold, automatic = tmp_path / "gold", tmp_path / "automatic"
    trees = [f"(S (A {n}))" for n in range(3)], [f"(S (D {n}))" for n in range(8)]
    gold.write_text("\n".join(trees[0]))
    automatic.write_text("".join(f"{tree[:2]}-X{tree[2:]}\n" for tree in trees[1]))
    assert write_mixed(tmp_path / "mixed", gold, automatic, ratio) == counts
    found = Counter((tmp_path / "mixed").read_text().splitlines())
    for own, count in zip(trees, counts, strict=True):
        assert sum(found[tree] for tree in own) == count
        assert {found[tree] for tree in own} <= {count // len(own), -(-count // len(own))}
