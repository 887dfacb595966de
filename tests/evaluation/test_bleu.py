import pytest
import sacrebleu

from t2t_keras.evaluation.bleu import bleu, chrf, compared, sentence_bleu

LINES = [f"The small dog number {n} sees the {word} cat ." for n, word in enumerate("abcdefgh")]
WORSE = [line.replace("small", "big") for line in LINES]


def test_the_signature_tells_how_the_score_was_computed():
    result = bleu(["the cat sat on the mat"], ["the cat sat on the mat"])
    assert result.score == pytest.approx(100)
    assert "tok:13a" in result.signature and "case:mixed" in result.signature
    assert result.lines == 1 and result.interval is None


def test_case_and_order_of_lines_matter():
    lines = ["The small dog sees the cat .", "A teacher reads an old letter ."]
    assert bleu([line.lower() for line in lines], lines).score < 100
    assert bleu(lines[::-1], lines).score < 10


def test_the_scores_are_those_of_sacrebleu():
    assert bleu(WORSE, LINES).score == sacrebleu.corpus_bleu(WORSE, [LINES]).score
    assert chrf(WORSE, LINES).score == sacrebleu.corpus_chrf(WORSE, [LINES]).score


def test_the_interval_comes_from_bootstrap_samples():
    result = bleu([*WORSE[:4], *LINES[4:]], LINES, samples=200)
    assert 0 < result.interval < 50 and "bs:200" in result.signature


def test_a_bootstrap_sample_may_have_no_match():
    """One of four lines is right, so nearly a third of the samples contain no right line."""
    outputs, references = [*"xxx", "Das ist gut"], ["Das ist gut"] * 4
    assert chrf(outputs, references, samples=50).interval > 20


def test_two_systems_are_compared_on_the_same_lines():
    ours, theirs = compared(LINES, WORSE, LINES, samples=200)
    assert [score.name for score in ours] == ["BLEU", "chrF"]
    assert ours[0].score == pytest.approx(100) and theirs[0].score < 90
    assert ours[0].p_value < 0.05 and theirs[0].p_value is None


def test_equal_outputs_do_not_differ_significantly():
    same, _ = compared(WORSE, WORSE, LINES, samples=200)
    assert same[0].p_value > 0.05


def test_lines_that_do_not_correspond_are_refused():
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        bleu(["a"], ["a", "b"])
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        compared(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="nothing to score"):
        bleu([], [])


def test_sentence_bleu_ranks_lines():
    scores = sentence_bleu(["a dog", "a cat", "x y"], ["a dog", "a dog", "a dog"])
    assert scores[0] == pytest.approx(100) and scores[0] > scores[1] > scores[2]
    assert scores[1] == sacrebleu.sentence_bleu("a cat", ["a dog"]).score
