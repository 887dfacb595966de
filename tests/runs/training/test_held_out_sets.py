import pytest
from support.runs.untrained import learned_tokenizer, tiny_experiment

from pipelines.batches.id_store import IdStore, Shard
from pipelines.tokenizers import load_tokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.experiment import Experiment
from t2t_keras.runs import train
from t2t_keras.runs.training.held_out_sets import (
    held_out_sets,
    held_out_store,
    held_out_texts,
    swapped_warnings,
    tags_of_sets,
)


def sets_of(experiment, run):
    return held_out_sets(experiment, held_out_texts(experiment), {}, run.tokenizer(), run.model())


@pytest.mark.long
def test_held_out_text_is_the_dev_set_or_the_toy_grammars_test_set(toy_corpus):
    files = {"dev_source": f"{toy_corpus}/train.en", "dev_target": f"{toy_corpus}/train.de"}
    for settings, expected in [
        ({"folder": "x", "dev_pairs": 20, **files}, {"": pairs(1200)[:20]}),
        ({}, {"": pairs(300, "test")}),
        ({"dev_pairs": 3}, {"": pairs(300, "test")[:3]}),
        ({"folder": "x"}, {}),
    ]:
        assert held_out_texts(tiny_experiment(**settings)) == expected


def test_held_out_sets_have_names_and_share_one_search(run, toy_corpus):
    dev = [f"{name}={toy_corpus}/train.en,{toy_corpus}/train.de" for name in ("general", "mine")]
    general, mine = sets_of(tiny_experiment(folder="x", dev=tuple(dev), dev_pairs=5), run)
    assert (general.name, mine.name) == ("general", "mine")
    assert [*zip(mine.sources, mine.references, strict=True)] == pairs(1200)[:5]
    assert len(mine.data.store) == 5
    assert general.translator.engine is mine.translator.engine
    assert general.translator.engine.config.beam == 1, "evaluations are frequent"


def test_wrong_held_out_sets_are_refused_before_anything_is_written(toy_corpus, tmp_path):
    experiment = tiny_experiment(dev=("mine=nowhere.en,nowhere.de",))
    with pytest.raises(ValueError, match=r"set 'mine': There is no source .* nowhere.en"):
        train(experiment, tmp_path / "run")
    experiment = tiny_experiment(dev=(f"mine={toy_corpus}/train.en,{toy_corpus}/train.de",))
    experiment.training.best_metric = "general"
    with pytest.raises(ValueError, match=r"`training.best_metric` must be .*'mine/bleu'"):
        train(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_held_out_pairs_longer_than_learned_positions_do_not_count_in_the_loss(vocabulary, caplog):
    """They are translated in parts for BLEU."""
    tokenizer = load_tokenizer(vocabulary)
    long = "dog " * 12
    length = len(tokenizer.encode([long])[0])
    texts = [("The dog.", "Der Hund."), ("The dog.", long)]
    assert len(held_out_store(texts, tokenizer, length + 1)) == 2 and not caplog.text
    assert len(held_out_store(texts, tokenizer, length, "mine")) == 1
    message = f"1 of 2 held-out pairs of mine have more than {length - 1} pieces on a side"
    assert message in caplog.text
    with pytest.raises(ValueError, match=r"1 of 1 held-out pairs .* Use shorter held-out text"):
        held_out_store(texts[1:], tokenizer, length)


def test_each_set_has_the_tag_that_it_names_or_the_only_one_of_the_data():
    sets = ("a=x,y,de", "b=x,y,<2fr>")
    tags = tags_of_sets(tiny_experiment(folder="x", dev=sets), ["<2de>", "<2fr>"])
    assert tags == {"a": "<2de>", "b": "<2fr>"}
    assert tags_of_sets(tiny_experiment(folder="x", dev=("a=x,y",)), ["<2de>"]) == {"a": "<2de>"}
    with pytest.raises(ValueError, match=r"set 'a': .* several tags: .*--dev=NAME=SOURCE,TARGET"):
        tags_of_sets(tiny_experiment(folder="x", dev=("a=x,y",)), ["<2de>", "<2fr>"])


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
    assert not (tmp_path / "run").exists()
