"""The plan: its defaults, and which settings contradict each other."""

import pytest
from support.runs.untrained import tiny_experiment

from t2t_keras.distillation import DistillationPlan


@pytest.fixture(scope="module")
def experiment():
    return tiny_experiment()


def new_plan(config, **changes):
    given = {"teachers": ["teacher"], "experiment": config, "run": "student", "data": "data"}
    return DistillationPlan(**{**given, **changes})


def test_defaults_follow_other_settings(experiment, tmp_path):
    plan = new_plan(experiment, teachers=tmp_path, run=tmp_path / "run")
    assert plan.teachers == [str(tmp_path)] and plan.n_best is None and plan.keep is None
    assert plan.texts_folder == plan.folder == tmp_path / "run" / "distillation"
    assert plan.vocabulary_size is None and plan.tests == {}
    plan = new_plan(experiment, choose="reference", reverse="r", texts=tmp_path, vocabulary=800)
    assert (plan.n_best, plan.keep, plan.texts_folder) == (8, 0.95, tmp_path)
    assert plan.vocabulary_size == 800


def test_the_held_out_text_is_the_default_test_set(experiment, toy_corpus):
    source, target = str(toy_corpus / "train.en"), str(toy_corpus / "train.de")
    plan = new_plan(experiment, dev_source=source, dev_target=target)
    assert plan.tests == {"dev": (source, target)}
    plan = new_plan(experiment, test=[f"one={source},{target}", f"two={target},{source}"])
    assert plan.tests == {"one": (source, target), "two": (target, source)}


def test_the_experiment_may_be_the_name_of_a_config():
    assert new_plan("multi30k").experiment.model.d_model == 128


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"teachers": []}, "`teachers` must be one folder or more"),
        ({"data": None}, "--data=FOLDER or --mono=FILES is required"),
        ({"engine": "litter"}, "did you mean 'litert'"),
        ({"choose": "reference", "n_best": 1}, "at least 2 translations"),
        ({"choose": "reference", "n_best": 8, "beam": 4}, "--beam must be at least --n_best"),
        ({"data": None, "mono": __file__, "real": 0.1}, "--real needs --data"),
        ({"vocabulary": "5"}, "`vocabulary` must be 300 or more"),
        ({"dev_source": __file__}, "--dev_source needs --dev_target"),
        ({"test": [f"one={__file__},no"]}, "--test=one: there is no file no"),
    ],
)
def test_wrong_settings_are_refused(experiment, changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(ValueError) as error:
        new_plan(experiment, **changes)
    assert message in str(error.value)
