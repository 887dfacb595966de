"""A training that starts from another run's weights, with its vocabulary or another one."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.runs.untrained import learned_tokenizer, toy_tokenizer, untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.batches.encoding import encoded
from pipelines.batches.id_store import finished_store
from pipelines.special_ids import CONTINUES, SPECIAL_PIECES
from pipelines.tokenizers import SeparateTokenizers
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from pipelines.tokenizers.word_pieces import WordPieceTokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.models import MODELS
from t2t_keras.rivals.gnmt import GNMTConfig
from t2t_keras.runs import Run, train
from t2t_keras.runs.training import train as training
from t2t_keras.runs.training.initial_weights import (
    chosen_layers,
    inherit_settings,
    initialize,
    means,
    origins,
    set_depth,
)
from t2t_keras.runs.training.run_start import begin
from t2t_keras.runs.training.train import initial_run, set_model
from t2t_keras.transformer import Transformer
from t2t_keras.transformer_config import TransformerConfig


@dataclasses.dataclass
class WithDomains(TransformerConfig):
    domains: int = 1


@pytest.fixture(scope="module")
def initial(tmp_path_factory):
    """An untrained run with a bias, and its tokenizer."""
    folder = tmp_path_factory.mktemp("initial")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "run", folder / "vocabulary", tokenizer), tokenizer


def weights_of(model):
    return {weight.path.split("/", 1)[1]: weight.numpy() for weight in model.trainable_weights}


def started(initial, tokenizer):
    """Returns the weights of a new model that starts from a run."""
    experiment, new = Experiment(TransformerConfig(dropout=0.3)), Run(initial.folder / "new")
    set_model(experiment, new, tokenizer, initial, initial.folder, ())
    assert experiment.model.dropout == 0.3 and experiment.model.d_model == 16
    model = experiment.new_model()
    initialize(model, initial, tokenizer)
    return weights_of(model)


def test_pieces_of_both_vocabularies_keep_their_rows_and_new_ones_get_a_mean(initial):
    run, known = initial
    expected = weights_of(run.model())
    for path, array in started(run, known).items():
        np.testing.assert_array_equal(array, expected[path], err_msg=path)

    result = started(run, WordPieceTokenizer([*SPECIAL_PIECES, "dog", "sleepsdog"]))
    made_of = known.encode(["dog", "sleepsdog"])
    assert len(made_of[1]) > 1
    for name in ("matrix", "bias"):
        theirs, ours = expected[f"embedding/{name}"], result[f"embedding/{name}"]
        np.testing.assert_array_equal(ours[:4], theirs[:4])
        for row, ids in zip(ours[4:], made_of, strict=True):
            np.testing.assert_allclose(row, theirs[ids].mean(axis=0), rtol=1e-5)
    path = "decoder/block_0/cross_attention/attention/query/kernel"
    np.testing.assert_array_equal(result[path], expected[path])

    source, target = (TokenTokenizer([*known.pieces(range(4)), word]) for word in ("dog", "Hund"))
    result, theirs = started(run, SeparateTokenizers(source, target)), expected["embedding/matrix"]
    for path, word in (("source_embedding/matrix", "dog"), ("embedding/matrix", "Hund")):
        mean = theirs[known.encode([word])[0]].mean(axis=0)
        np.testing.assert_allclose(result[path][4], mean, rtol=1e-5)


def test_a_start_with_another_depth_takes_the_chosen_layers(tmp_path):
    tokenizer = toy_tokenizer(tmp_path / "vocabulary")
    old = untrained_run(tmp_path / "run", tmp_path / "vocabulary", tokenizer, decoder_layers=3)
    new = TokenTokenizer([*SPECIAL_PIECES, *tokenizer.pieces(range(300, 400)), "sleepsdog"])
    experiment, run = Experiment(), Run(tmp_path / "new")
    experiment.training.init_decoder_layers = (2, -1)
    set_model(experiment, run, new, old, old.folder, ())
    assert experiment.model.layers == (1, 2)
    model = experiment.new_model()
    random = weights_of(model)
    assert initialize(model, old, new, chosen_layers(experiment.training)) == [
        f"Taken from {old.folder}: encoder layers 0; decoder layers 2; pieces: 100",
        "Not taken: decoder layers 0, 1; pieces: 296",
        "New: decoder layers 1; pieces: 1",
    ]
    result, theirs = weights_of(model), weights_of(old.model())
    path = "decoder/block_{}/self_attention/attention/query/kernel"
    np.testing.assert_array_equal(result[path.format(0)], theirs[path.format(2)])
    np.testing.assert_array_equal(result[path.format(1)], random[path.format(1)])
    experiment.training.init_decoder_layers = (0, 3)
    with pytest.raises(ValueError, match=r"`training.init_decoder_layers` must be indices from 0"):
        set_model(experiment, run, new, old, old.folder, ())
    with pytest.raises(ValueError, match="must be empty without --init"):
        set_model(experiment, run, new, None, None, ())
    with pytest.raises(ValueError, match="only layers of a Transformer can be chosen"):
        set_depth(experiment, Experiment(GNMTConfig()))


def test_a_piece_that_the_known_vocabulary_cannot_split_is_made_of_unknown():
    known = WordPieceTokenizer([*SPECIAL_PIECES, "a", f"{CONTINUES}b"])
    new = WordPieceTokenizer([*SPECIAL_PIECES, "ab", f"{CONTINUES}b", "xa"])
    assert origins(new, known) == [[0], [1], [2], [3], [4, 5], [5], [3, 3]]
    assert origins(known, known) == [[id] for id in range(6)]
    begun = TokenTokenizer([*SPECIAL_PIECES, "a", "b"], begin=True)
    new = TokenTokenizer([*SPECIAL_PIECES, "b", "c"])
    assert origins(new, begun)[4:] == [[5], [3]], "without the begin of a source"


def test_means_of_rows():
    array = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 0.0]], "float32")
    expected = [[1, 2], [4, 3], [3, 8 / 3]]
    np.testing.assert_allclose(means(array, [[0], [1, 2], [0, 1, 2]]), expected, rtol=1e-6)
    np.testing.assert_allclose(means(array[:, 0], [[2, 1], [0]]), [4, 1])


def test_the_search_is_the_runs_where_the_config_has_the_defaults():
    known = SearchConfig(beam=6, alpha=1.0, penalty="marian", banned=(3, 17), first=(20,))

    def inherited(search, *options):
        experiment = Experiment(search=search)
        inherit_settings(experiment, Experiment(search=known), *options)
        return experiment.search

    search = inherited(SearchConfig(extra_length=10), ())
    assert search == dataclasses.replace(known, extra_length=10)
    search = inherited(SearchConfig(beam=2), (), False)
    assert search == dataclasses.replace(known, beam=2, banned=(3,), first=())
    search = inherited(SearchConfig(), ["search.beam", "search.first"])
    assert search == dataclasses.replace(known, beam=4, first=()), "given, although the default"


def test_a_run_with_initial_weights_is_resumed_as_it_was_started_or_with_all_its_settings(tmp_path):
    run, tokenizer = Run(tmp_path), learned_tokenizer()
    model = TransformerConfig(vocab_size=400, d_model=16, num_heads=2)
    known = Experiment(model, search=SearchConfig(beam=6))
    begin(run, known, tokenizer)
    write_json(run.config_file, read_json(run.config_file) | {"init": "gone"})
    config = load_experiment("finetune")
    set_model(config, run, tokenizer, initial_run(run, "gone"), "gone", ())
    assert (config.model, config.search) == (known.model, known.search)
    resumed = run.experiment()
    resumed.search.beam = SearchConfig().beam
    set_model(resumed, run, tokenizer, initial_run(run, None), None, ())
    assert resumed.search == SearchConfig()


def test_a_rival_takes_only_the_rates_that_it_has():
    experiment = Experiment(TransformerConfig(dropout=0.3))
    inherit_settings(experiment, Experiment(GNMTConfig()), ())
    assert experiment.model == GNMTConfig(dropout=0.3)


def test_a_model_keeps_what_it_adds_to_the_settings_of_the_run_and_others_are_refused(monkeypatch):
    with_domains = type("WithDomains", (Transformer,), {"config_class": WithDomains})
    monkeypatch.setitem(MODELS, "domains", with_domains)
    experiment = Experiment(WithDomains(domains=3, d_model=8, num_heads=1, dropout=0.3))
    inherit_settings(experiment, Experiment(TransformerConfig(d_model=16, num_heads=2)), ())
    assert experiment.model == WithDomains(domains=3, d_model=16, num_heads=2, dropout=0.3)
    with pytest.raises(ValueError, match="derived from GNMTConfig, with this --init"):
        inherit_settings(experiment, Experiment(GNMTConfig()), ())


def test_a_run_goes_on_only_from_the_weights_that_it_was_started_with(tmp_path):
    run = Run(tmp_path / "run")
    assert initial_run(run, None) is None
    assert initial_run(run, "a").folder == Path("a")
    run.folder.mkdir()
    write_json(run.config_file, {"experiment": {}, "init": "a"})
    assert initial_run(run, None).folder == initial_run(run, "x/../a").folder == Path("a")
    with pytest.raises(ValueError, match=r"was started with --init=a\. Received: --init=b"):
        initial_run(run, "b")
    write_json(run.config_file, {"experiment": {}})
    assert initial_run(run, None) is None
    with pytest.raises(ValueError, match=r"was started without --init\. .* different --run"):
        initial_run(run, "a")


@pytest.mark.long
def test_a_training_on_weighted_corpora_from_frozen_initial_weights(initial, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "finish", lambda *_: None)  # to save time
    start, tokenizer = initial
    for name, texts in {"general": pairs(200), "mine": pairs(40, "test")}.items():
        encoded(texts, tokenizer).shards[0].write(tmp_path / name / "shard-000000")
        finished_store(tmp_path / name)
        shutil.copytree(start.folder / "vocabulary", tmp_path / name / "vocabulary")
    experiment = load_experiment("finetune")
    experiment.data.folder = f"{tmp_path}/general:1,{tmp_path}/mine:4"
    experiment.data.batches.tokens, experiment.data.batches.buckets = 2100, 1
    experiment.search.extra_length, experiment.training.steps = 0, 8
    experiment.training.freeze = ("encoder", "embedding")
    (tmp_path / "dev").write_text("The dog sleeps.\n")
    experiment.data.dev_source = experiment.data.dev_target = str(tmp_path / "dev")
    run = train(experiment, tmp_path / "run", init=start.folder, export=False).run
    before, after = weights_of(start.model()), weights_of(run.model())
    for path, array in after.items():
        same = np.array_equal(array, before[path])
        assert same == path.startswith(("encoder", "embedding")), path
    config = read_json(run.config_file)
    assert config["init"] == str(start.folder) and config["base"] == {"license": None, "hub": None}
    # A pair of the small corpus is seen 4 · 200 / 40 times as often.
    passes = run.evaluations()[-1]["passes"]
    assert passes["mine"] / passes["general"] == pytest.approx(20, rel=0.3)


def test_a_training_must_have_a_layer_that_is_not_frozen(initial):
    experiment = initial[0].experiment()
    experiment.training.freeze = ("encoder", "decoder", "embedding")
    with pytest.raises(ValueError, match="names that leave a layer to be trained"):
        experiment.compiled_model()
