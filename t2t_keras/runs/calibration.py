"""Calibration of a run: is the confidence of its words the share of words that are right?"""

from t2t_keras.evaluation.calibration import calibration, right_words
from t2t_keras.translating.pieces_of_words import texts_of_words


def calibration_of(run, translations, references, weights=None):
    """Returns the `Calibration` of the words of translations, or None if there are no words.

    Args:
        run: a `Run` or a `RunEnsemble`.
        translations: the `Translation` of each text.
        references: lists of strings of equal length.
        weights: see `TrainedModel`. They should be those that translated.
    """
    tokenizer = run.tokenizer().target
    expected = tokenizer.encode(references) if references else []
    right = []
    for translation, ids in zip(translations, expected, strict=True):
        parts = (texts_of_words(tokenizer, target) for _, target in translation.parts)
        written = [word for part in parts for word in part]
        right += right_words(written, texts_of_words(tokenizer, ids))
    confidence = [word for each in run.confidence(weights)(translations) for word in each]
    return calibration(confidence, right)
