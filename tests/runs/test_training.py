import dataclasses
import os
import shutil
import types

import numpy as np
import pytest

from pipelines.data_config import DataConfig
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig
from t2t_keras.experiment import load_experiment
from t2t_keras.runs import Run, train, training
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


def tiny_experiment(data, steps, **settings):
    experiment = load_experiment("base")
    experiment.model = TransformerConfig(num_layers=1, d_model=16, d_ff=16, num_heads=2)
    intervals = {"log_every": 2, "evaluate_every": 100, "checkpoint_every": 2}
    experiment.training = TrainingConfig(steps=steps, **intervals)
    experiment.data = DataConfig(folder=str(data), **settings)
    experiment.data.batches.tokens, experiment.data.batches.max_length = 512, 64
    experiment.search = dataclasses.replace(experiment.search, beam=2, extra_length=0)
    return experiment


@pytest.fixture(scope="module")
def trained(toy_data, toy_corpus, tmp_path_factory):
    """A run trained for 4 steps on prepared data, the `Training`, and the lines that it showed."""
    files = {"dev_source": f"{toy_corpus}/train.en", "dev_target": f"{toy_corpus}/train.de"}
    experiment, lines = tiny_experiment(toy_data[1], 4, dev_pairs=20, **files), []
    folder = tmp_path_factory.mktemp("training") / "run"
    result = train(experiment, folder, export=False, command=["a", "b"], show=lines.append)
    return result, lines


@pytest.fixture
def resumed(trained, toy_data, tmp_path):
    """A function that resumes a copy of the run without held-out text."""
    folder = shutil.copytree(trained[0].run.folder, tmp_path / "run")

    def resume(steps):
        lines = []
        experiment = tiny_experiment(toy_data[1], steps)
        return train(experiment, folder, export=False, show=lines.append), lines

    return resume


def weights_of(run, weights):
    return [weight.numpy() for weight in run.model(weights).weights]


def test_a_training_ends_with_averaged_weights_and_their_bleu(trained):
    result, lines = trained
    run = result.run
    assert (result.step, result.stopped, result.finished, result.export) == (4, None, True, None)
    assert result.is_chief and run.checkpoints.steps() == [2, 4]
    means = [np.mean(both, 0) for both in zip(*(weights_of(run, s) for s in "24"), strict=True)]
    for ours, mean in zip(weights_of(run, "averaged"), means, strict=True):
        np.testing.assert_allclose(ours, mean, atol=1e-7)
    assert lines[0] == f"{run.averaged_weights}: mean of the checkpoints of steps 2, 4"
    assert lines[1].startswith("BLEU ") and "tok:13a" in lines[1]
    assert lines[2].strip().startswith("source"), "example translations follow"
    (evaluation,) = run.evaluations()
    assert evaluation["step"] == 4 and {"loss", "bleu", "tokens"} <= set(evaluation)


def test_a_run_records_its_settings_vocabulary_and_command(trained, toy_data):
    run, vocabulary = trained[0].run, toy_data[1] / "vocabulary"
    experiment = run.experiment()
    assert experiment.model.vocab_size == run.tokenizer().size == 400
    assert experiment.data.folder == str(toy_data[1])
    assert '"command": [\n    "a",\n    "b"\n  ]' in run.config_file.read_text()
    assert {path.name for path in (run.folder / "vocabulary").iterdir()} == {
        path.name for path in vocabulary.iterdir()
    }


def test_a_finished_run_is_left_as_it_is(resumed, trained):
    before = trained[0].run.averaged_weights.stat()
    result, lines = resumed(4)
    assert (result.step, result.finished) == (4, True)
    assert lines == [f"{result.run.folder} is already trained to its last step, 4"]
    assert result.run.averaged_weights.stat().st_mtime_ns == before.st_mtime_ns


def test_a_run_killed_before_averaging_is_averaged_by_the_next_start(resumed, tmp_path):
    run = Run(tmp_path / "run")
    expected = weights_of(run, "averaged")
    run.averaged_weights.write_bytes(b"weights of an earlier end")
    os.utime(run.averaged_weights, (0, 0))
    _, lines = resumed(4)
    assert lines == [f"{run.averaged_weights}: mean of the checkpoints of steps 2, 4"]
    for ours, theirs in zip(weights_of(run, "averaged"), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_more_steps_resume_a_finished_run(resumed, capsys):
    result, lines = resumed(6)
    assert result.step == 6 and result.run.checkpoints.steps() == [2, 4, 6]
    assert lines == [f"{result.run.averaged_weights}: mean of the checkpoints of steps 2, 4, 6"]
    assert result.run.experiment().training.steps == 6
    output = capsys.readouterr().err
    assert "step 6/6" in output and "step 2/" not in output


def test_a_different_model_is_refused(toy_data, trained):
    experiment = tiny_experiment(toy_data[1], 4)
    experiment.model.d_ff = 32
    with pytest.raises(ValueError, match=r"was started with model.d_ff=16"):
        train(experiment, trained[0].run.folder)


def test_nothing_is_written_into_a_folder_that_is_not_a_run(toy_data, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for data in (toy_data[1], ""):
        with pytest.raises(ValueError, match=r"is not a run, and it contains other files"):
            train(tiny_experiment(data, 4), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_in_use_is_refused(copied):
    with copied.locked(), pytest.raises(ValueError, match="is in use by process"):
        train(tiny_experiment("", 4), copied.folder)


@pytest.mark.parametrize(
    ("is_chief", "stopped", "stopped_early", "finished"),
    [
        (True, None, False, True),
        (True, "SIGTERM", False, False),
        (True, "no better loss", True, True),
        (False, None, False, True),
    ],
)
def test_only_the_chief_finishes_a_run_and_only_at_its_end(
    monkeypatch, tmp_path, is_chief, stopped, stopped_early, finished
):
    trainer = types.SimpleNamespace(
        train=lambda: stopped, stopped_early=stopped_early, is_chief=is_chief, step=7
    )
    monkeypatch.setattr(training, "make_trainer", lambda *arguments: trainer)
    monkeypatch.setattr(training, "finish", lambda run, trainer, export, show: f"export {export}")
    result = train(tiny_experiment("", 9), tmp_path, show=None)
    assert (result.step, result.stopped, result.finished) == (7, stopped, finished)
    assert result.is_chief == is_chief
    assert result.export == ("export True" if finished and is_chief else None)


def test_without_data_a_run_learns_the_toy_grammar_and_its_vocabulary_once(tmp_path, monkeypatch):
    experiment, run = tiny_experiment("", 4, toy_pairs=300), Run(tmp_path)
    experiment.data.vocabulary = VocabularyConfig(size=400)
    store, vocabulary = training.training_store(experiment, run)
    assert len(store) == 300 and vocabulary == tmp_path / "vocabulary"
    assert run.tokenizer().size == 400
    monkeypatch.setattr(training, "learn", None)
    again, _ = training.training_store(experiment, run)
    assert again.lengths.tolist() == store.lengths.tolist()


def test_held_out_text_is_the_dev_set_or_the_toy_grammars_test_set(run, toy_corpus):
    tokenizer, model = run.tokenizer(), run.model()
    files = {"dev_source": f"{toy_corpus}/train.en", "dev_target": f"{toy_corpus}/train.de"}
    for settings, expected in [
        ({"data": "x", "dev_pairs": 20, **files}, pairs(1200)[:20]),
        ({"data": ""}, pairs(300, "test")),
        ({"data": "", "dev_pairs": 3}, pairs(300, "test")[:3]),
    ]:
        held_out = training.held_out(tiny_experiment(steps=4, **settings), tokenizer, model)
        assert list(zip(held_out.sources, held_out.references, strict=True)) == expected
    assert training.held_out(tiny_experiment("x", 4), tokenizer, model) is None


def test_the_rate_is_that_of_a_matrix_product(monkeypatch):
    times = iter([0.0, 4.0, 10.0, 12.0])
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(times))
    assert training.sustained_rate(size=10, rounds=2) == 2 * 10**3 / 2.0
