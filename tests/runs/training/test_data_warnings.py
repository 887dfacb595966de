"""Files and settings of a training that are probably a mistake are warned about."""

import pytest
from support.runs.untrained import learned_tokenizer, tiny_experiment

from pipelines.batches.id_store import IdStore, Shard
from pipelines.toy.grammar import pairs
from t2t_keras.experiment import Experiment
from t2t_keras.runs import train
from t2t_keras.runs.training.data_warnings import swapped_warnings

ENGLISH, GERMAN = zip(*pairs(300), strict=True)


def warnings_of(held_out, source=ENGLISH, target=GERMAN):
    tokenizer = learned_tokenizer()
    sides = [tokenizer.encode(list(side)) for side in (source, target)]
    store = IdStore([Shard.of(zip(*sides, strict=True))])
    return list(swapped_warnings(held_out, store, tokenizer))


def test_held_out_files_in_their_places_have_no_warning():
    assert warnings_of({"": pairs(99, "test"), "mine": [("Un chien.", "Ein Hund.")] * 9}) == []


def test_swapped_held_out_files_are_named():
    swapped = [(german, english) for english, german in pairs(99, "test")]
    source, target = warnings_of({"general": pairs(99, "test"), "mine": swapped})
    assert source.startswith("The held-out source text of mine seems to be in the language of the")
    assert f"training target text: {swapped[0][0]!r}. Check that" in source
    assert target.startswith("The held-out target text of mine seems to be in the language of the")


def test_a_single_file_in_the_wrong_language_is_named():
    (warning,) = warnings_of({"": [(english, english) for english, _ in pairs(99, "test")]})
    assert warning.startswith("The held-out target text seems")


def test_training_in_both_directions_and_few_words_have_no_warning():
    swapped = [(german, english) for english, german in pairs(99, "test")]
    assert warnings_of({"": swapped}, ENGLISH + GERMAN, GERMAN + ENGLISH) == []
    assert warnings_of({"": [("Ein Hund.", "A dog.")]}) == []


def test_a_training_warns_before_it_begins(tmp_path, caplog, monkeypatch):
    def begin(*arguments, **options):
        raise InterruptedError

    monkeypatch.setattr(Experiment, "compiled_model", begin)
    files = {"dev_source": GERMAN, "dev_target": ENGLISH}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    dev = {name: str(tmp_path / name) for name in files}
    with pytest.raises(InterruptedError):
        experiment = tiny_experiment(toy_pairs=300, **dev)
        experiment.training.warmup_steps = experiment.training.steps
        train(experiment, tmp_path / "run")
    assert caplog.text.count("seems to be in the language of the training") == 2
    assert caplog.text.count("the learning rate rises until the end") == 1
