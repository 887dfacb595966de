"""Scores of texts against each other equal sacreBLEU's scores of single pairs."""

import itertools
import random

import numpy as np
import pytest
import sacrebleu

from t2t_keras.evaluation.metric_settings import METRICS, corpus_metric
from t2t_keras.evaluation.pairwise import chrf_of_pairs, pairwise

WORDS = [
    "der",
    "kleine",
    "Hund",
    "sieht",
    "sieht",
    "eine",
    "große",
    "Katze",
    "auf",
    "dem",
    "Dach",
    ".",
    "😀",
    "ein",
    "äh",
]
TEXTS = ["", "a", "ab c", " x", "aaaaaaaaaa"]
TEXTS += [" ".join(random.Random(n).choices(WORDS, k=n)) for n in range(14)]
SACREBLEU = {
    "chrf": sacrebleu.CHRF(),
    "chrf++": sacrebleu.CHRF(word_order=2),
    "bleu": sacrebleu.BLEU(effective_order=True),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("name", SACREBLEU)
def test_the_scores_of_pairs_are_sacrebleus(name):
    texts = TEXTS if name == "chrf" else TEXTS[-8:]
    expected = [
        SACREBLEU[name].sentence_score(text, [reference]).score
        for text, reference in itertools.product(texts, repeat=2)
    ]
    sign = -1 if name == "ter" else 1  # a larger utility is better
    found = pairwise(name)(texts, "source")
    np.testing.assert_allclose(found, sign * np.reshape(expected, found.shape), atol=1e-9)


def test_chrf_takes_any_texts():
    assert chrf_of_pairs([""]) == chrf_of_pairs([" "]) == 0
    assert chrf_of_pairs(["\ud800 broken"]) == pytest.approx(100)


def test_a_metric_of_all_lines_is_no_utility():
    METRICS["corpus"] = corpus_metric("corpus", lambda texts, references: 1.0)
    try:
        with pytest.raises(ValueError, match=r"metric of single lines\. Received: 'corpus'"):
            pairwise("corpus")
    finally:
        del METRICS["corpus"]
