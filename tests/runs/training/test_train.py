import dataclasses
import types

import pytest
from support.runs.untrained import learned_tokenizer, tiny_experiment

from pipelines.atomic_files import locked_folder, read_json
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from t2t_keras.runs import Run, train
from t2t_keras.runs.training import train as training
from t2t_keras.runs.training.run_start import begin


def test_a_training_ends_with_averaged_weights(toy_run):
    run = Run(toy_run[1])
    assert run.checkpoints.steps() == [2, 4]
    assert run.averaged.record()["steps"] == [2, 4]
    (evaluation,) = run.evaluations()
    assert evaluation["step"] == 4 and {"loss", "bleu", "tokens"} <= set(evaluation)
    assert run.experiment().model.vocab_size == run.tokenizer().size == 400


@pytest.fixture
def resumed(finished, monkeypatch):
    """A function that resumes the run, without held-out text to save time."""
    monkeypatch.setattr(training, "held_out_sets", lambda *arguments: [])

    def resume(export=False, **settings):
        experiment, lines = finished.experiment(), []
        experiment.training = dataclasses.replace(experiment.training, **settings)
        options = {"command": ["a", "b"], "show": lines.append}
        return train(experiment, finished.folder, export=export, **options), lines

    return resume


@pytest.mark.long
def test_a_finished_run_is_left_as_it_is_and_more_steps_resume_it(resumed, finished, capsys):
    before = contents_of(finished.folder)
    result, lines = resumed(export=True)
    assert (result.step, result.stopped, result.finished, result.export) == (4, None, True, None)
    assert lines == [f"{finished.folder} is already trained to its last step, 4"]
    assert contents_of(finished.folder) == before

    result, lines = resumed(steps=6)
    assert result.step == 6 and result.run.checkpoints.steps() == [2, 4, 6]
    assert lines == [f"{finished.averaged_weights}: mean of the checkpoints of steps 2, 4, 6"]
    assert finished.experiment().training.steps == 6
    assert read_json(finished.config_file)["command"] == ["a", "b"]
    output = capsys.readouterr().err
    assert "step 6/6" in output and "step 2/" not in output


def test_an_optimizer_with_a_different_state_is_refused_before_anything_changes(resumed, finished):
    before = contents_of(finished.folder)
    with pytest.raises(ValueError, match=r"different options \(training.optimizer_options"):
        resumed(steps=6, optimizer_options="amsgrad=true")
    assert contents_of(finished.folder) == before


def test_nothing_is_written_into_a_folder_that_is_not_a_run(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    message = r"is not a run: it has no config.json, but other files \(thesis.tex\)"
    with pytest.raises(ValueError, match=message):
        train(tiny_experiment(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_in_use_is_refused(copied):
    with locked_folder(copied.folder), pytest.raises(ValueError, match="is in use by process"):
        train(tiny_experiment(), copied.folder)


def test_only_the_chief_finishes_a_run_and_only_at_its_end(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "finish", lambda run, trainer, export, show: "an export")
    for is_chief, stopped, early, finished, export in (
        (True, None, False, True, "an export"),
        (True, "SIGTERM", False, False, None),
        (True, "no better loss", True, True, "an export"),
        (False, None, False, True, None),
    ):
        trainer = types.SimpleNamespace(
            train=lambda stopped=stopped: stopped, stopped_early=early, is_chief=is_chief, step=7
        )
        monkeypatch.setattr(training, "make_trainer", lambda *_, trainer=trainer: trainer)
        result = train(tiny_experiment(), tmp_path, show=None)
        assert result[1:] == (7, stopped, finished, is_chief, export)


def test_without_data_a_run_learns_the_toy_grammar_and_its_vocabulary_once(tmp_path, monkeypatch):
    experiment, run = tiny_experiment(toy_pairs=300), Run(tmp_path)
    experiment.data.encodings = EncodingsConfig(per_sentence=3, bpe_dropout=0.2)
    store, tokenizer, *_ = training.training_corpora(experiment, run)
    assert (len(store), store.encodings, tokenizer.size) == (300, 3, 400)
    assert not list(tmp_path.iterdir())
    begin(run, experiment, tokenizer)
    monkeypatch.setattr(training, "learn", None)
    again, *_ = training.training_corpora(experiment, run)
    assert again.lengths.tolist() == store.lengths.tolist()


def test_the_rate_is_that_of_the_largest_products_of_the_run(monkeypatch):
    """A first measurement, two until one takes long enough, and the three of which one counts."""
    times = iter([0.0, 9.0, 0.0, 0.04, 0.0, 4.0, 0.0, 3.0, 0.0, 5.0, 0.0, 6.0])
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(times))
    experiment = tiny_experiment()
    experiment.data.batches.tokens, experiment.training.accumulate = 1200, 2
    experiment.training.precision = "mixed_bfloat16"
    model = experiment.model
    rate = training.sustained_rate(experiment, replicas=3)
    assert rate == 2 * (200 * model.d_model * model.d_ff * 2) * 2 / 3.0


def test_machines_with_different_settings_are_refused():
    others = set()
    machines = types.SimpleNamespace(all_values=lambda value: others.add(value) or others)
    experiment = tiny_experiment()
    training.check_machines(machines, experiment, learned_tokenizer())
    training.check_machines(machines, tiny_experiment(), learned_tokenizer())
    experiment.training.seed = 7
    with pytest.raises(ValueError, match="have different settings or vocabularies"):
        training.check_machines(machines, experiment, learned_tokenizer())


def contents_of(folder):
    """Returns the bytes of all files, without locks and those that each start rewrites."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith((".lock", "config.json", "metrics.jsonl"))
    }
