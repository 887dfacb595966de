"""Calibration of a run: is the confidence of its words the share of words that are right?"""

from t2t_keras.evaluation.calibration import calibration, right_words
from t2t_keras.translating.words import texts_of_words


def calibration_of(tokenizer, translations, references):
    """Returns the `Calibration` of the words of translations, or None if there are no words.

    Args:
        tokenizer: the tokenizer of the target language.
        translations: the `Translation` of each text, with confidence.
        references: lists of strings of equal length.
    """
    expected = tokenizer.encode(references) if references else []
    right = []
    for translation, ids in zip(translations, expected, strict=True):
        right += right_words(translation.words.target, texts_of_words(tokenizer, ids))
    confidence = [word for each in translations for word in each.confidence]
    return calibration(confidence, right)
