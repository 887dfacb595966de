import pytest
import sacrebleu

from t2t_keras.evaluation.bleu import bleu, chrf, compared, sentence_bleu
from t2t_keras.evaluation.by_length import bleu_by_length

LINES = [f"The small dog number {n} sees the {word} cat ." for n, word in enumerate("abcdefgh")]


def test_the_signature_says_how_it_was_computed():
    result = bleu(["the cat sat on the mat"], ["the cat sat on the mat"])
    assert result.score == pytest.approx(100)
    assert "tok:13a" in result.signature and "case:mixed" in result.signature
    assert result.lines == 1 and result.interval is None


def test_case_and_order_of_lines_count():
    lines = ["The small dog sees the cat .", "A teacher reads an old letter ."]
    assert bleu([line.lower() for line in lines], lines).score < 100
    assert bleu(lines[::-1], lines).score < 10


def test_the_scores_are_sacrebleus_own():
    worse = [line.replace("small", "big") for line in LINES]
    assert bleu(worse, LINES).score == sacrebleu.corpus_bleu(worse, [LINES]).score
    assert chrf(worse, LINES).score == sacrebleu.corpus_chrf(worse, [LINES]).score
    sampled = bleu([*worse[:4], *LINES[4:]], LINES, samples=200)
    assert 0 < sampled.interval < 50 and "bs:200" in sampled.signature


def test_a_drawn_test_set_may_have_nothing_right():
    """Of four lines one is right, so that nearly a third of the drawn sets have none."""
    outputs, references = [*"xxx", "Das ist gut"], ["Das ist gut"] * 4
    assert chrf(outputs, references, samples=50).interval > 20


def test_two_systems_are_compared_on_the_same_lines():
    worse = [line.replace("small", "big") for line in LINES]
    ours, theirs = compared(LINES, worse, LINES, samples=200)
    assert [score.name for score in ours] == ["BLEU", "chrF"]
    assert ours[0].score == pytest.approx(100) and theirs[0].score < 90
    assert ours[0].p_value < 0.05 and theirs[0].p_value is None
    same, _ = compared(worse, worse, LINES, samples=200)
    assert same[0].p_value > 0.05


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        bleu(["a"], ["a", "b"])
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        compared(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="nothing to score"):
        bleu([], [])


def test_bleu_by_length_is_that_of_each_groups_lines():
    sources = ["one", "one two", "a b c d e f", *["w " * 7] * 10, "x " * 101]
    references = [f"The small dog sees {number} cats ." for number in range(14)]
    outputs = [*references[:5], *["nothing at all is right"] * 8, references[13]]
    found = bleu_by_length(sources, outputs, references, samples=50)
    assert [(group.first, group.last, group.lines) for group in found] == [
        *((0, 5, 2), (6, 10, 11), (101, None, 1)),
    ]
    assert found[0].score == found[2].score == pytest.approx(100)
    assert found[1].score == bleu(outputs[2:13], references[2:13]).score < 50
    assert found[0].interval is None and found[1].interval > 0


def test_sentence_bleu_ranks_lines():
    scores = sentence_bleu(["a dog", "a cat", "x y"], ["a dog", "a dog", "a dog"])
    assert scores[0] == pytest.approx(100) and scores[0] > scores[1] > scores[2]
    assert scores[1] == sacrebleu.sentence_bleu("a cat", ["a dog"]).score
