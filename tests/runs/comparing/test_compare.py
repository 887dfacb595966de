"""Runs are compared by settings, over seeds, on the same lines."""

import csv
import shutil

import pytest
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import write_json
from pipelines.toy.grammar import pairs
from t2t_keras.evaluation.bleu import paired_bleu
from t2t_keras.evaluation.several_seeds import p_of_means
from t2t_keras.runs import Run, compare
from t2t_keras.runs.comparing import test_sets
from t2t_keras.runs.comparing.compare import rows_of
from t2t_keras.runs.comparing.test_sets import SWEEP, runs_in
from t2t_keras.runs.settings_file import write_settings

SOURCES, REFERENCES = (list(side) for side in zip(*pairs(30, "test"), strict=True))


@pytest.fixture(scope="module")
def runs(new_run, tmp_path_factory):
    """Runs a1 and a2 differ in the seed, b in another setting."""
    folder = tmp_path_factory.mktemp("compared")
    for name, seed, rate in (("a1", 1, 0.5), ("a2", 2, 0.5), ("b", 1, 2.0)):
        run = new_run(folder / name)
        experiment = run.experiment()
        experiment.training.seed, experiment.training.learning_rate = seed, rate
        experiment.training.warmup_steps = 5
        write_settings(run.config_file, experiment)
    for side, texts in (("source", SOURCES), ("reference", REFERENCES)):
        (folder / side).write_text("".join(f"{text}\n" for text in texts))
    return folder


def outputs_of(translator, sources):
    """Returns the references, with errors that depend on the run."""
    letter = {"a1": "e", "a2": "n", "b": "r"}[translator.engine.name.name]
    return [line.replace(letter, "x", 1 + len(line) % 3) for line in REFERENCES]


def compared(runs, output, *names, **options):
    tests = {"test": (str(runs / "source"), str(runs / "reference"))}
    compare([runs / name for name in names], output, tests=tests, **options)
    with open(output / "comparison.csv") as file:
        return list(csv.DictReader(file))


def test_seeds_are_a_row_and_only_settings_that_differ_are_columns(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(test_sets, "translate_all", outputs_of)
    rows = compared(runs, tmp_path, "a1", "b", "a2", "a1")
    assert [row["runs"] for row in rows] == ["a1, a2", "b"]
    assert [row["training.learning_rate"] for row in rows] == ["0.5", "2.0"]
    assert not any(name.startswith(("data", "model", "training.seed")) for name in rows[0])
    alone = compared(runs, tmp_path / "alone", "a1", "a2")[0]
    assert (alone["BLEU"], alone["BLEU ±"]) == (rows[0]["BLEU"], rows[0]["BLEU ±"])
    assert "p" not in alone
    assert (tmp_path / "comparison.png").stat().st_size > 5000
    monkeypatch.setattr(test_sets, "translate_all", None)  # nothing is translated again
    assert compared(runs, tmp_path, "a1", "b", "a2") == rows
    other = compared(runs, tmp_path, "a2", "a1", "b", baseline=runs / "b")
    assert [row["runs"] for row in other] == ["b", "a2, a1"] and not other[0]["p"]


def test_with_a_single_run_on_each_side_p_is_that_of_paired_bleu():
    worse = [line.replace("d", "t", 1) if i % 9 == 0 else line for i, line in enumerate(REFERENCES)]
    expected = paired_bleu([REFERENCES, worse], REFERENCES)
    assert p_of_means([[REFERENCES], [worse]], REFERENCES) == [expected[1].p_value]
    assert p_of_means([[worse], [worse, worse]], REFERENCES) == [1.0]


def test_a_folder_that_is_no_run_is_named(runs, tmp_path):
    with pytest.raises(ValueError, match="none"):
        compare([runs / "a1", tmp_path / "none"], tmp_path)


def copied(runs, folder, **settings):
    """Copies the run a1, with other settings of its data or its training."""
    shutil.copytree(runs / "a1", folder)
    run = Run(folder)
    experiment = run.experiment()
    for name, value in settings.items():
        setattr(experiment.data if name == "dev_pairs" else experiment.training, name, value)
    write_settings(run.config_file, experiment)
    return run


def test_the_runs_of_a_sweep_are_in_the_order_in_which_they_were_trained(runs, tmp_path):
    names = ["rate=2.0-seed=1", "rate=10.0-seed=1"]
    for name in names:
        copied(runs, tmp_path / name)
    write_json(tmp_path / SWEEP, {})
    write_json(tmp_path / "stages.json", {name: [] for name in (*names, "of a comparison")})
    assert list(runs_in([tmp_path, tmp_path / names[1]])) == names, "each run counts once"


def test_an_unfinished_run_is_a_row_of_its_own_unless_it_stopped_early(runs, tmp_path):
    partial = copied(runs, tmp_path / "partial")
    early = copied(runs, tmp_path / "early", patience=1)
    for run in (partial, early):
        save_checkpoint(run, 500)
    rows = rows_of(runs_in([runs / "a1", partial.folder]))
    assert rows[1].settings == {"unfinished": "step 500 of 100,000"}
    assert rows_of(runs_in([runs / "a1", early.folder]))[1].settings == {"training.patience": "1"}


def test_runs_with_different_held_out_text_need_a_test_set(runs, tmp_path):
    other = copied(runs, tmp_path / "other", dev_pairs=9)
    with pytest.raises(ValueError, match=r"need a test set.*Received: a1, other"):
        compare([runs / "a1", other.folder], tmp_path / "out")
    assert not (tmp_path / "out").exists()
