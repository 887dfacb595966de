import pytest
from untrained import QUICK

from t2t_keras.runs.trained_model import TrainedModel


class Numbered(TrainedModel):
    """Counts how often its model is loaded."""

    def __init__(self):
        super().__init__()
        self.loads, self.key = 0, "first"

    def weights_key(self, weights):
        return weights, self.key

    def model(self, weights):
        self.loads += 1
        return f"{weights}, {self.key}, load {self.loads}"


def test_a_model_is_loaded_again_only_for_different_or_newer_weights():
    runs = Numbered()
    assert runs.loaded("best") == runs.loaded("best") == "best, first, load 1"
    assert runs.loaded("newest") == "newest, first, load 2"
    runs.key = "second"
    assert runs.loaded("newest") == "newest, second, load 3"
    assert runs.loaded("best") == "best, second, load 4", "one model is kept at a time"


def test_a_search_is_kept_until_its_settings_change(run):
    translator = run.translator(**QUICK)
    assert run.translator(None, **QUICK) is translator
    assert run.translator("averaged", **QUICK) is translator
    assert run.translator(beam=2) is not translator
    scorer = run.scorer()
    assert run.scorer() is scorer


def test_the_best_translation_of_each_text_is_returned_on_one_line(run, monkeypatch):
    texts, counts = ["The dog sleeps.", "", "The cat sleeps."], []
    best = run.translate(texts, on_progress=counts.append, **QUICK)
    translations = run.translator(n_best=1, **QUICK).translate(texts)
    assert best == [each[0].text for each in translations]
    assert best[1] == "" and best[0] and counts[-1] == 3
    broken = [[each[0]._replace(text="a\nb")] for each in translations]
    translator = run.translator(n_best=1, **QUICK)
    monkeypatch.setattr(translator, "translate", lambda *arguments: broken)
    assert run.translate(texts, **QUICK) == ["a b"] * 3


def test_search_settings_are_those_of_the_run_with_changes(run):
    assert run.search() == run.experiment().search
    assert run.search(beam=7, alpha=None).beam == 7
    with pytest.raises(ValueError, match="there is no search setting 'bean'"):
        run.translate(["a"], bean=2)
