"""Scores of texts against each other equal sacreBLEU's scores of single pairs."""

import itertools
import random

import numpy as np
import pytest
import sacrebleu

from t2t_keras.evaluation.pairwise import chrf_of_pairs, pairwise

LINE = "der kleine Hund sieht sieht eine große Katze auf dem Dach . 😀 ein äh"
TEXTS = ["", "a", "ab c", " x", "aaaaaaaaaa"]
TEXTS += [" ".join(random.Random(n).choices(LINE.split(), k=n)) for n in range(14)]
SACREBLEU = {
    "chrf": sacrebleu.CHRF(),
    "bleu": sacrebleu.BLEU(effective_order=True),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("name", SACREBLEU)
def test_the_scores_of_pairs_are_sacrebleus(name):
    texts = TEXTS if name == "chrf" else TEXTS[-8:]
    pairs = itertools.product(texts, repeat=2)
    expected = [SACREBLEU[name].sentence_score(text, [other]).score for text, other in pairs]
    sign = -1 if name == "ter" else 1  # a larger utility is better
    found = pairwise(name)(texts, "source")
    np.testing.assert_allclose(found, sign * np.reshape(expected, found.shape), atol=1e-9)
    assert chrf_of_pairs([" "]) == 0 and chrf_of_pairs(["\ud800 broken"]) == pytest.approx(100)
