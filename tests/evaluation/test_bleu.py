import importlib
import logging

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from t2t_keras.evaluation.bleu import bleu, chrf, compared, metrics_of, paired_bleu, sentence_bleu
from t2t_keras.evaluation.metric_settings import MetricSettings

LINES = [f"The small dog number {n} sees the {word} cat ." for n, word in enumerate("abcdefgh")]
WORSE = [line.replace("small", "big") for line in LINES]


def test_the_scores_are_those_of_sacrebleu():
    result = bleu(WORSE, LINES)
    assert result.score == sacrebleu.corpus_bleu(WORSE, [LINES]).score
    assert "tok:13a" in result.signature and "case:mixed" in result.signature
    assert result.lines == 8 and result.interval is None
    assert chrf(WORSE, LINES).score == sacrebleu.corpus_chrf(WORSE, [LINES]).score
    scores = sentence_bleu(["a dog", "a cat"], ["a dog", "a dog"])
    assert scores == [pytest.approx(100), sacrebleu.sentence_bleu("a cat", ["a dog"]).score]


@pytest.mark.parametrize(("tokenizer", "advised"), [("none", False), ("13a", True)])
def test_tokens_are_no_reason_for_advice_if_text_is_scored_as_tokens(caplog, tokenizer, advised):
    tokens = ["a dog sleeps ."] * 200
    metrics_of(MetricSettings(tokenize=tokenizer))["BLEU"].corpus_score(tokens, [tokens])
    assert ("forgot to detokenize" in caplog.text) == advised


@pytest.mark.parametrize(("tokenizer", "extra"), [("ja-mecab", "ja"), ("ko-mecab", "ko")])
def test_a_tokenizer_without_its_package_is_refused(monkeypatch, tokenizer, extra):
    module = importlib.import_module(f"sacrebleu.tokenizers.tokenizer_{extra}_mecab")
    monkeypatch.setattr(module, "MeCab", None)
    with pytest.raises(ValueError, match=rf"needs a package: pip install 't2t-keras\[{extra}\]'"):
        metrics_of(MetricSettings(tokenize=tokenizer))


def test_the_interval_comes_from_bootstrap_samples():
    result = bleu([*WORSE[:4], *LINES[4:]], LINES, samples=200)
    assert 0 < result.interval < 50 and "bs:200" in result.signature
    # One of four lines is right, so nearly a third of the samples contain no right line.
    outputs, references = [*"xxx", "Das ist gut"], ["Das ist gut"] * 4
    assert chrf(outputs, references, samples=50).interval > 20


def test_each_of_several_systems_is_compared_with_the_first(caplog):
    with caplog.at_level(logging.INFO, logger="absl"):
        first, same, better = paired_bleu([WORSE, WORSE, LINES], LINES, samples=100)
    assert not caplog.messages
    assert first.p_value is None and first.score == same.score == bleu(WORSE, LINES).score
    assert same.p_value == 1 and better.score == pytest.approx(100)
    assert better.p_value == compared(LINES, WORSE, LINES, samples=100)[0][0].p_value < 0.05


def test_other_p_values_are_those_of_sacrebleu():
    """Also where the systems differ in few lines, so that many samples are ties."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        references = [" ".join(random.choice([*"abcdefgh"], 9)) for _ in range(20)]

        def system(rate, random=random, references=references):
            return [
                " ".join(word if random.random() > rate else "x" for word in line.split())
                for line in references
            ]

        ours, theirs = system(0.2), system(random.choice([0.2, 0.25, 0.4]))
        if seed % 2:
            theirs = [*ours[:-2], *theirs[-2:]]
        scores, _ = compared(ours, theirs, references, samples=300)
        metrics = {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF()}
        systems = [("theirs", theirs), ("ours", ours)]
        _, results = PairedTest(systems, metrics, [references], "bs", n_samples=300)()
        del results["System"]
        for score, (_, expected) in zip(scores, results.values(), strict=True):
            assert (score.score, score.interval) == (expected.score, expected.ci)
            assert score.p_value == expected.p_value


def test_lines_that_do_not_correspond_are_refused():
    for refused in (
        lambda: bleu(["a"], ["a", "b"]),
        lambda: compared(["a", "b"], ["a"], ["a", "b"]),
        lambda: paired_bleu([LINES, LINES[1:]], LINES),
        lambda: sentence_bleu(["a"], ["a", "b"]),
    ):
        with pytest.raises(ValueError, match=r"same number of lines. Received: \d and \d"):
            refused()
    with pytest.raises(ValueError, match="nothing to score"):
        bleu([], [])
