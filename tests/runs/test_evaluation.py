import pytest
from support.runs.untrained import QUICK

from pipelines.toy.grammar import pairs
from t2t_keras.runs.evaluation import evaluate

SOURCES, REFERENCES = (list(side) for side in zip(*pairs(40, "test"), strict=True))
WORSE = [line.replace("d", "t") for line in REFERENCES]


def test_a_second_system_is_compared_by_paired_bootstrap():
    result = evaluate(REFERENCES, REFERENCES, "de", against=WORSE)
    assert [score.name for score in result.scores] == ["BLEU", "chrF", "paper's BLEU"]
    assert all(score.score == pytest.approx(100) for score in result.scores)
    for ours, theirs in zip(result.scores[:2], result.against[:2], strict=True):
        assert ours.score > theirs.score
        assert ours.p_value < 0.01 and theirs.p_value is None
    assert result.against[2].name == "paper's BLEU" and result.against[2].score < 90


def test_a_run_is_scored_on_its_translations(run, capsys):
    result = run.evaluate(SOURCES, REFERENCES, paper_bleu="de", **QUICK)
    assert "translating" in capsys.readouterr().err
    assert result.translations == run.translate(SOURCES, **QUICK)
    assert result == evaluate(result.translations, REFERENCES, "de")
    assert run.evaluate(SOURCES[0], REFERENCES[0], **QUICK).translations == result.translations[:1]
