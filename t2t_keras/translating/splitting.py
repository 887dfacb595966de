"""The choice whether texts are translated sentence by sentence."""

from pipelines.sentences import split_sentences
from t2t_keras.checks import check_choice
from t2t_keras.translating.sentences import on_one_line, whole

SPLIT = ("auto", "off")


def splitter(split):
    """Returns the function that splits a text into sentences, or leaves it whole.

    Args:
        split: "auto" or "off".
    """
    check_choice("split", split, SPLIT)
    return split_sentences if split == "auto" else whole


def best_of(translator, texts, on_progress, split, requirements=None):
    """Returns the best translation of each text.

    Args:
        translator: a `Translator`.
        texts: strings.
        on_progress: called with the number of texts done so far.
        split: "auto" or "off".
        requirements: see `Translator.translate`.
    """
    texts, divide = list(texts), splitter(split)
    results = translator.translate(texts, on_progress, split=divide, requirements=requirements)
    # The line breaks between sentences are the source's. A single sentence has none of its own.
    return [
        best.text if len(divide(text)[0]) > 1 else on_one_line(best.text)
        for text, (best, *_) in zip(texts, results, strict=True)
    ]
