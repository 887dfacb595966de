import numpy as np
import pytest
import tensorflow as tf

from pipelines.toy_grammar import pairs
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.translating.engines.scoring_graph import scorer

PAIRS = [*pairs(20), ("", ""), ("dog " * 60, "Hund")]


def test_the_graph_gives_the_log_probabilities_of_the_model(run):
    model, tokenizer = run.model(), run.tokenizer()
    scores = run.score(PAIRS)
    for pair, score in zip(PAIRS[-3:], scores[-3:], strict=True):
        source, target = (np.array([[*tokenizer.encode([text])[0], 2]]) for text in pair)
        assert score.tokens.tolist() == target[0].tolist(), "its end included"
        expected = log_probabilities(model, source, target)[0]
        np.testing.assert_allclose(score.token_log_p, expected, atol=1e-5)


def test_a_score_does_not_depend_on_the_other_pairs(run):
    together, reverse = run.score(PAIRS), run.score(PAIRS[::-1])[::-1]
    alone = [run.score([pair])[0] for pair in PAIRS]
    for scores in zip(together, reverse, alone, strict=True):
        for score in scores[1:]:
            np.testing.assert_allclose(score.token_log_p, scores[0].token_log_p, rtol=1e-4)
        assert scores[0].perplexity == pytest.approx(
            np.exp(-scores[0].log_p / len(scores[0].tokens))
        )


@pytest.mark.long
def test_a_translation_has_the_log_p_of_its_score(run):
    source = PAIRS[0][0]
    translator = run.translator(beam=4, n_best=4, alpha=0.6, extra_length=20)
    (translations,) = translator.translate([source])
    assert len(translations) == 4
    for translation, score in zip(
        translations, run.score([(source, each.text) for each in translations]), strict=True
    ):
        length = len(score.tokens)
        assert score.log_p == pytest.approx(translation.score * ((5 + length) / 6) ** 0.6, abs=1e-4)


def test_a_text_beyond_the_learned_positions_is_refused_with_its_line(learned_positions):
    pairs = [("a", "b"), ("a", "Hund " * 50)]
    with pytest.raises(ValueError, match=r"line 2: a target must have at most 40 pieces"):
        learned_positions.score(pairs)
    with pytest.raises(ValueError, match=r"line 8: a target"):
        learned_positions.scorer().score(pairs, first_line=7)
    assert len(learned_positions.score(pairs[:1])) == 1


class TooLarge:
    """A model that does not fit into memory."""

    longest = None

    def __call__(self, inputs):
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")


def test_a_pair_that_does_not_fit_into_memory_is_refused(run):
    with pytest.raises(ValueError, match=r"not enough memory for a pair of about \d+ pieces"):
        scorer(TooLarge(), run.tokenizer()).score([("a", "b")])
