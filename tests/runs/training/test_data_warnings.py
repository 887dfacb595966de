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


TEST = pairs(99, "test")
SWAPPED = [(german, english) for english, german in TEST]


def test_held_out_text_in_the_language_of_the_other_side_is_named():
    source, target = warnings_of({"general": TEST, "mine": SWAPPED})
    assert source.startswith("The held-out source text of mine seems to be in the language of the")
    assert f"training target text: {SWAPPED[0][0]!r}. Check that" in source
    assert target.startswith("The held-out target text of mine seems to be in the language of the")
    (warning,) = warnings_of({"": [(english, english) for english, _ in TEST]})
    assert warning.startswith("The held-out target text seems")


def test_right_files_few_words_and_training_in_both_directions_have_no_warning():
    few = [("Ein Hund.", "A dog.")]
    assert warnings_of({"": TEST, "mine": [("Un chien.", "Ein Hund.")] * 9, "few": few}) == []
    assert warnings_of({"": SWAPPED}, ENGLISH + GERMAN, GERMAN + ENGLISH) == []


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
