import numpy as np
import pytest
from untrained import learned_tokenizer

from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.runs import RunEnsemble
from t2t_keras.translating.scoring import Scorer
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.word_confidence import confidence

EMPTY = Translation("", 0.0, [])


def translation_of(tokenizer, *pairs):
    """Returns a `Translation` with a part for each pair of texts."""
    parts = [tuple(np.append(ids, 2) for ids in tokenizer.encode(pair)) for pair in pairs]
    return Translation(" ".join(target for _, target in pairs), 0.0, parts)


def falling(source, target):
    """Returns log P as of a fake model: it falls with the position and the source's length."""
    lengths = (source != 0).sum(axis=1, keepdims=True)
    return -0.01 * lengths * np.arange(1, target.shape[1] + 1)


@pytest.fixture(scope="module")
def rate():
    return confidence(Scorer(learned_tokenizer(), falling, batch_tokens=64))


def test_a_word_has_the_probability_of_its_least_probable_piece_in_the_run(run):
    translation = translation_of(run.tokenizer(), ("The dog sleeps.", "das Hundehaus"))
    ((source, target),) = translation.parts
    p = np.exp(np.asarray(log_probabilities(run.model(), source[None], target[None])[0]))
    assert len(target) > 4, "the second word has several pieces"
    ((first, second),) = run.confidence()([translation])
    assert first == pytest.approx(p[0], rel=1e-4)
    assert second == pytest.approx(p[1:-1].min(), rel=1e-4)


def test_translations_come_back_in_order_with_the_words_of_all_their_parts(rate):
    tokenizer = learned_tokenizer()
    pairs = ("The dog", "Der Hund"), ("The cat sleeps.", "Die Katze " * 20)
    short, long = (translation_of(tokenizer, pair) for pair in pairs)
    results = rate([EMPTY, short, translation_of(tokenizer, *pairs[::-1]), EMPTY, long])
    assert [len(each) for each in results] == [0, 2, 42, 0, 40]
    assert results[2] == results[4] + results[1]
    assert results[4] == sorted(results[4], reverse=True)
    assert rate([]) == [] and rate([EMPTY]) == [[]]


def test_an_output_without_an_end_keeps_its_last_word(rate):
    translation = translation_of(learned_tokenizer(), ("The dog", "Der Hund"))
    ((source, target),) = translation.parts
    cut_off = translation._replace(parts=[(source, target[:-1])])
    whole, cut = rate([translation, cut_off])
    assert len(cut) == 2 and cut == whole


def test_an_ensemble_uses_its_own_probabilities(run, rate, monkeypatch):
    ensemble = RunEnsemble([run.folder, run.folder])
    chosen = []
    scorer = Scorer(learned_tokenizer(), falling)
    monkeypatch.setattr(ensemble, "scorer", lambda weights: chosen.append(weights) or scorer)
    translation = translation_of(learned_tokenizer(), ("The dog", "Der Hund"))
    assert ensemble.confidence("best")([translation]) == rate([translation])
    assert chosen == ["best"]
