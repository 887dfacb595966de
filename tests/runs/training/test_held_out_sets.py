import pytest
from support.runs.untrained import tiny_experiment

from pipelines.toy.grammar import pairs
from t2t_keras.runs import train
from t2t_keras.runs.training.held_out_sets import held_out_sets, held_out_texts, tags_of_sets


def sets_of(experiment, run):
    texts = held_out_texts(experiment)
    return held_out_sets(experiment, texts, {}, run.tokenizer(), run.model())


@pytest.mark.long
def test_held_out_text_is_the_dev_set_or_the_toy_grammars_test_set(run, toy_corpus):
    files = {"dev_source": f"{toy_corpus}/train.en", "dev_target": f"{toy_corpus}/train.de"}
    for settings, expected in [
        ({"folder": "x", "dev_pairs": 20, **files}, pairs(1200)[:20]),
        ({}, pairs(300, "test")),
        ({"dev_pairs": 3}, pairs(300, "test")[:3]),
    ]:
        (held_out,) = sets_of(tiny_experiment(**settings), run)
        assert list(zip(held_out.sources, held_out.references, strict=True)) == expected
        assert held_out.name == ""
    assert sets_of(tiny_experiment(folder="x"), run) == []


def test_held_out_sets_have_names_and_share_one_search(run, toy_corpus):
    dev = [f"{name}={toy_corpus}/train.en,{toy_corpus}/train.de" for name in ("general", "mine")]
    experiment = tiny_experiment(folder="x", dev=tuple(dev), dev_pairs=5)
    general, mine = sets_of(experiment, run)
    assert (general.name, mine.name) == ("general", "mine")
    assert len(general.sources) == len(mine.data.store) == 5
    assert general.translator.engine is mine.translator.engine


@pytest.mark.parametrize(
    ("files", "best", "message"),
    [
        ("nowhere.en,nowhere.de", "loss", r"Held-out set 'mine': There is no source .* nowhere.en"),
        (
            "{0}/train.en,{0}/train.de",
            "general",
            r"`training.best_metric` must be .*'mine/bleu'",
        ),
    ],
)
def test_wrong_held_out_sets_are_refused_before_anything_is_written(
    toy_corpus, tmp_path, files, best, message
):
    experiment = tiny_experiment(dev=("mine=" + files.format(toy_corpus),))
    experiment.training.best_metric = best
    with pytest.raises(ValueError, match=message):
        train(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_held_out_pairs_longer_than_learned_positions_do_not_count_in_the_loss(
    learned_positions, tmp_path, caplog
):
    """They are translated in parts for BLEU."""
    sentences = ["The dog sleeps.", "The dog sleeps. " * 30, "The cat sleeps."]
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{sentence.strip()}\n" for sentence in sentences))
    experiment = tiny_experiment(folder="x", dev=(f"mine={tmp_path}/source,{tmp_path}/target",))
    (held_out,) = sets_of(experiment, learned_positions)
    assert len(held_out.sources) == 3 and len(held_out.data.store) == 2
    assert "1 of 3 held-out pairs of mine have more than 39 pieces on a side" in caplog.text
    experiment.data.dev_pairs = 2
    (tmp_path / "source").write_text(f"{sentences[1]}\n" * 2)
    (tmp_path / "target").write_text(f"{sentences[1]}\n" * 2)
    with pytest.raises(ValueError, match=r"2 of 2 held-out pairs .* Use shorter held-out text"):
        sets_of(experiment, learned_positions)


def test_each_set_has_the_tag_that_it_names_or_the_only_one_of_the_data():
    sets = ("a=x,y,de", "b=x,y,<2fr>")
    tags = tags_of_sets(tiny_experiment(folder="x", dev=sets), ["<2de>", "<2fr>"])
    assert tags == {"a": "<2de>", "b": "<2fr>"}
    assert tags_of_sets(tiny_experiment(folder="x", dev=("a=x,y",)), ["<2de>"]) == {"a": "<2de>"}
    with pytest.raises(ValueError, match=r"set 'a': .* several tags: .*--dev=NAME=SOURCE,TARGET"):
        tags_of_sets(tiny_experiment(folder="x", dev=("a=x,y",)), ["<2de>", "<2fr>"])
