import pytest
from support.runs.untrained import QUICK

from pipelines.toy.grammar import pairs
from t2t_keras.runs.evaluation import evaluate, translate_all

SOURCES, REFERENCES = (list(side) for side in zip(*pairs(40, "test"), strict=True))
WORSE = [line.replace("d", "t") for line in REFERENCES]


def test_perfect_translations_have_the_highest_scores():
    result = evaluate(REFERENCES, REFERENCES)
    assert result.translations == REFERENCES and result.against is None
    assert [score.name for score in result.scores] == ["BLEU", "chrF"]
    for score in result.scores:
        assert score.score == pytest.approx(100) and score.lines == 40
        assert score.interval is not None and score.p_value is None
    assert "tok:13a" in result.scores[0].signature


def test_a_second_system_is_compared_by_paired_bootstrap():
    result = evaluate(REFERENCES, REFERENCES, against=WORSE)
    for ours, theirs in zip(result.scores, result.against, strict=True):
        assert ours.score > theirs.score
        assert ours.p_value < 0.01 and theirs.p_value is None


def test_the_papers_bleu_is_added_if_the_language_is_given():
    *_, score = evaluate(REFERENCES, REFERENCES, "de").scores
    assert score.name == "paper's BLEU" and score.score == pytest.approx(100)
    *_, worse = evaluate(REFERENCES, REFERENCES, "de", against=WORSE).against
    assert worse.name == "paper's BLEU" and worse.score < 90


def test_translations_and_references_must_match_in_number():
    with pytest.raises(ValueError, match=r"same number of lines. Received: 39 and 40"):
        evaluate(REFERENCES[1:], REFERENCES)


def test_the_progress_of_translating_is_shown(run, capsys):
    outputs = translate_all(run.translator(), SOURCES, task="parsing", **QUICK)
    assert outputs == run.translate(SOURCES, **QUICK)
    assert "parsing" in capsys.readouterr().err


def test_a_run_is_scored_on_its_translations(run):
    alone = run.evaluate(SOURCES[0], REFERENCES[0], **QUICK)
    assert alone.translations == run.translate(SOURCES[:1], **QUICK)
    assert alone.scores == run.evaluate(SOURCES[:1], REFERENCES[:1], **QUICK).scores
    result = run.evaluate(SOURCES, REFERENCES, paper_bleu="de", **QUICK)
    assert result.translations == run.translate(SOURCES, **QUICK)
    assert result == evaluate(result.translations, REFERENCES, "de")
