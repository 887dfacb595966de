"""The engine of a run's model: log P, attention, and searches with other settings."""

import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf
from support.runs.untrained import learned_tokenizer

from pipelines.toy.grammar import pairs
from t2t_keras.decoding.alignment import AlignmentHead, attention_between
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.runs import load_translator
from t2t_keras.training.checkpoints import model_state
from t2t_keras.translating.engines.model import SEARCHES, ModelEngine
from t2t_keras.translating.translator import Translator

PAIRS = [*pairs(6), ("", ""), ("dog " * 60, "Hund")]


@pytest.mark.long
def test_log_p_is_that_of_the_model(run):
    model, tokenizer = run.model(), run.tokenizer()
    for pair, score in zip(PAIRS[-3:], run.score(PAIRS)[-3:], strict=True):
        source, target = (np.array([[*tokenizer.encode([text])[0], 2]]) for text in pair)
        assert score.tokens.tolist() == target[0].tolist(), "its end included"
        expected = log_probabilities(model, source, target)[0]
        np.testing.assert_allclose(score.token_log_p, expected, atol=1e-5)


@pytest.mark.long
def test_a_score_does_not_depend_on_the_other_pairs(run):
    together, reverse = run.score(PAIRS), run.score(PAIRS[::-1])[::-1]
    for scores in zip(together, reverse, [run.score([pair])[0] for pair in PAIRS], strict=True):
        for score in scores[1:]:
            np.testing.assert_allclose(score.token_log_p, scores[0].token_log_p, rtol=1e-4)
        assert scores[0].perplexity == pytest.approx(
            np.exp(-scores[0].log_p / len(scores[0].tokens))
        )


@pytest.mark.long
def test_a_translation_has_the_log_p_of_its_score(run):
    source = PAIRS[0][0]
    translator = run.translator(beam=2, n_best=2, alpha=0.6, extra_length=20)
    (translations,) = translator.translations([source])
    assert len(translations) == 2
    for translation, score in zip(
        translations, run.score([(source, each.text) for each in translations]), strict=True
    ):
        length = len(score.tokens)
        assert score.log_p == pytest.approx(translation.score * ((5 + length) / 6) ** 0.6, abs=1e-4)


class TooLarge:
    """A model that does not fit into memory."""

    longest = None

    def __call__(self, inputs):
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")


def test_a_pair_that_does_not_fit_into_memory_is_refused():
    engine = ModelEngine(TooLarge(), learned_tokenizer(), SearchConfig())
    with pytest.raises(ValueError, match=r"not enough memory for a pair of about \d+ pieces"):
        Translator(engine).score([("a", "b")])


def ids_of(run, *texts):
    return [np.append(ids, 2).astype("int32")[None] for ids in run.tokenizer().encode(texts)]


@pytest.mark.long
def test_attention_is_that_of_the_chosen_head(run):
    choice = AlignmentHead(0, 0, shifted=True)
    engine = ModelEngine(run.model(), run.tokenizer(), run.search(), alignment=choice)
    ids = ids_of(run, "The dog sleeps.", "Der Hund schläft.")
    expected = attention_between(run.model(), *ids, choice)
    np.testing.assert_allclose(engine.attention(*ids), expected, atol=1e-6)


@pytest.mark.long
def test_an_ensemble_aligns_by_its_first_model_and_rates_by_all(run, new_run, tmp_path):
    other = new_run(tmp_path / "other")
    model = other.model()
    for weight in model.weights:
        weight.assign(weight + 0.1 * np.random.default_rng(1).normal(size=weight.shape))
    other.averaged.write(model_state(model), None, None)
    engine, single = load_translator(run.folder, other.folder).engine, run.engine()
    ids = ids_of(run, "The dog sleeps.", "Der Hund schläft.")
    np.testing.assert_allclose(engine.attention(*ids), single.attention(*ids), atol=1e-6)
    np.testing.assert_allclose(engine.log_p(*ids), log_probabilities(engine.model, *ids), atol=1e-5)
    assert not np.allclose(engine.log_p(*ids), single.log_p(*ids), atol=1e-3)


def test_there_is_one_engine_for_each_config_and_few_are_kept(run):
    engine = ModelEngine(run.model(), run.tokenizer(), run.search(), name="toy", split="off")

    def with_beam(beam):
        return engine.with_search(engine.config.changed(beam=beam))

    first = with_beam(1)
    assert (first.name, first.split, first.config.beam) == ("toy", "off", 1)
    assert engine.config == run.search() != first.config
    assert with_beam(1) is first
    assert first.log_p_graph is engine.log_p_graph, "log P does not depend on the search"
    forgotten = weakref.ref(with_beam(2))
    for beam in range(3, 3 + SEARCHES - 1):
        with_beam(1)  # in use
        with_beam(beam)
    assert len(engine.others) == SEARCHES
    gc.collect()
    assert forgotten() is None and with_beam(1) is first
