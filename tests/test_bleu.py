import pytest
import sacrebleu

from t2t_keras.evaluation.bleu import bleu, chrf, compared

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
