"""COMET, with a module that has the interface of unbabel-comet 2 in its place."""

import pytest

from t2t_keras.evaluation import comet
from t2t_keras.evaluation.bleu import compared, metrics_of, scored
from t2t_keras.evaluation.metric_settings import MetricSettings
from t2t_keras.evaluation.pairwise import pairwise

MODULE = """
from types import SimpleNamespace
print("a line of another library")
class Model:
    def predict(self, samples, batch_size=16, gpus=1, progress_bar=True):
        assert gpus == 0 and not progress_bar
        scores = [len({*each["mt"].split()} & {*(each["src"] + " " + each["ref"]).split()}) / 10
            for each in samples]
        return SimpleNamespace(scores=scores, system_score=sum(scores) / len(scores))
def load_from_checkpoint(path):
    if not open(path).close():
        return Model()
"""
TORCH = "class cuda:\n    is_available = staticmethod(lambda: False)"
SOURCES, TEXTS, REFERENCES = ["x y", "z"], ["x a", "a b"], ["a", "a"]


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The path of a checkpoint, for a process that finds the module."""
    (tmp_path / "comet.py").write_text(MODULE)
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "model.ckpt").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return str(tmp_path / "model.ckpt")


def test_comet_sees_source_hypothesis_and_reference(model):
    settings = MetricSettings(("comet",), comet_model=model, columns={"source": SOURCES})
    (metric,) = metrics_of(settings).values()
    score = scored("COMET", metric, TEXTS, REFERENCES, samples=100)
    assert score.score == pytest.approx(15) and score.interval > 0
    assert f"|model:{model}|" in score.signature
    assert scored("COMET", metric, TEXTS, [REFERENCES, ["x", "a"]]).score == pytest.approx(12.5)
    (ours,), (theirs,) = compared(TEXTS, ["q", "q"], REFERENCES, 100, settings)
    assert (ours.score, theirs.score) == (pytest.approx(15), 0) and ours.p_value < 1
    assert pairwise("comet", model)(TEXTS, "x").tolist() == [[20, 20], [10, 20]]


def test_why_there_is_no_comet_is_said(model, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="COMET needs the checkpoint of its model: --comet_model"):
        comet.Comet(None)
    with pytest.raises(ValueError, match=r"COMET failed in .*No such file .*none.ckpt'$"):
        comet.Comet(str(tmp_path / "none.ckpt"))
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(ValueError, match=r"No module named 'comet'. unbabel-comet needs NumPy 1"):
        comet.Comet("model.ckpt")
    settings = MetricSettings(("comet",), comet_model=model)
    with pytest.raises(ValueError, match=r"'comet' needs the column 'source'.*: no columns"):
        metrics_of(settings)
