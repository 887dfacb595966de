"""Confidence of the words of translations, computed by forced decoding."""

import numpy as np

from t2t_keras.translating.confidence import word_confidence
from t2t_keras.translating.pieces_of_words import pieces_of_words


def confidence(scorer):
    """Returns a function from `Translation`s to the confidence of each word of each.

    The words are those of `aligner`.

    Args:
        scorer: a `Scorer` of the model that translated.
    """
    tokenizer = scorer.tokenizer.target

    def rated(score):
        return of_words(tokenizer, score.tokens, score.token_log_p)

    def rate(translations):
        parts = [part for each in translations for part in each.parts]
        sources, targets = ([np.asarray(part[side]) for part in parts] for side in (0, 1))
        scores = iter(scorer.score_ids(sources, targets))
        return [
            [float(each) for _ in translation.parts for each in rated(next(scores))]
            for translation in translations
        ]

    return rate


def of_words(tokenizer, ids, token_log_p):
    """Returns the confidence of each word of a target, given its ids and log P of each."""
    sizes, is_word = pieces_of_words(tokenizer, ids)
    return word_confidence(token_log_p, sizes)[is_word]
