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
        ({"experiment": "smal"}, "There is no config 'smal'"),
        ({"data": None}, "--data=FOLDER or --mono=FILES is required"),
        ({"engine": "litter"}, "did you mean 'litert'"),
        ({"n_best": 4}, "--n_best needs --choose=reference"),
        ({"choose": "reference", "n_best": 1}, "at least 2 translations"),
        ({"choose": "reference", "n_best": 8, "beam": 4}, "--beam must be at least --n_best"),
        ({"reverse": "r", "keep": 1.5}, "`keep` must be at most 1"),
        ({"beam_options": ["--runner=X"]}, "--beam_options needs --apache_beam"),
        ({"data": None, "mono": __file__, "real": 0.1}, "--real needs --data"),
        ({"data": None, "mono": __file__, "choose": "reference"}, "--choose needs --data"),
        ({"mono": "no*.gz"}, "There is no mono file"),
        ({"ratio": 0.5}, "`ratio` must be 0, or more than 1"),
        ({"real": 1}, "`real` must be a number of at least 0 and below 1"),
        ({"vocabulary": "5"}, "`vocabulary` must be 300 or more"),
        ({"dev_source": __file__}, "--dev_source and --dev_target go together"),
        ({"test": "one"}, "`test` must be NAME=SOURCE,TARGET"),
        ({"test": [f"one={__file__},{__file__},de"]}, "--to has the tag of all texts"),
        ({"test": [f"one={__file__},no"]}, "--test=one: there is no file no"),
        ({"test": "one=blank,blank"}, "--test=one: blank has no text"),
    ],
)
def test_wrong_settings_are_refused(experiment, changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(ValueError) as error:
        new_plan(experiment, **changes)
    assert message in str(error.value)


def test_test_sets_must_be_parallel(experiment, toy_corpus):
    files = f"one={toy_corpus}/train.en,{toy_corpus}/short.de"
    with pytest.raises(ValueError, match=r"--test=one: .*same number of lines"):
        new_plan(experiment, test=[files])
