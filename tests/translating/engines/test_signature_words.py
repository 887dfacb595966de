"""Words of translations through signatures, which a fake function answers."""

import numpy as np
import pytest
from untrained import learned_tokenizer

from pipelines.tokenizers import words
from t2t_keras.translating.engines.signature_words import SignatureWords
from t2t_keras.translating.translator import Translation


def translation_of(*parts):
    return Translation(" ".join(text for _, text in parts), 0.0, list(parts))


def lengths_of(texts):
    return [len(learned_tokenizer().encode([text.decode()])[0]) + 1 for text in texts]


def test_words_are_aligned_by_the_weights_of_the_signature():
    asked = []

    def call(name, inputs):
        asked.append((name, *(inputs[key][0].decode() for key in ("text", "translation"))))
        return {"weights": np.eye(4)[None, ::-1]}  # three words and the end

    aligned = SignatureWords(call, learned_tokenizer()).aligner()
    sentence = ("The that the", "das mein die")
    first = aligned(translation_of(sentence))
    assert first == [(0, 0), (1, 2), (2, 1)]
    shifted = [(source + 3, target + 3) for source, target in first]
    assert aligned(translation_of(sentence, sentence)) == first + shifted
    assert asked == [("align", *sentence)] * 3


def test_a_word_has_the_probability_of_its_least_probable_piece():
    tokenizer, asked = learned_tokenizer(), []

    def call(name, inputs):
        """The k-th piece of a translation has the probability 1 / k."""
        lengths = lengths_of(inputs["translation"])
        asked.append((name, len(lengths)))
        log_p = np.zeros((len(lengths), max(lengths)), "float32")
        for row, length in zip(log_p, lengths, strict=True):
            row[:length] = -np.log(np.arange(1, length + 1))
        return {"log_probabilities": log_p}

    texts = ["Der Hund schläft.", "Die Katze", "", "Ja"]
    translations = [
        translation_of(("The dog sleeps.", texts[0]), ("The cat", texts[1])),
        translation_of(("", texts[2])),
        Translation("", 0.0, []),
        *[translation_of(("Yes", texts[3]))] * 600,
    ]
    signatures = SignatureWords(call, tokenizer)
    both, *others = signatures.confidence(translations)
    expected = []
    for text in texts[:2]:
        sizes = [size for _, size in words(tokenizer, tokenizer.encode([text])[0])]
        expected += [1 / end for end in np.cumsum(sizes)]
    assert both == pytest.approx(expected)
    assert len(both) == len(signatures.words(translations[0])[1]) == 5
    assert others[:2] == [[], []] and len(others) == 602
    assert {name for name, _ in asked} == {"score_pieces"} and len(asked) > 2
    assert sum(rows for _, rows in asked) == 603


def test_sentences_that_are_too_long_are_refused_by_their_beginning():
    signatures = SignatureWords(None, learned_tokenizer())
    long = translation_of(("dog " * 300, "Hund"))
    message = "words of sentences of fewer than 256 pieces. Received: 'dog dog .* Give the run"
    for call in (signatures.aligner(), lambda one: signatures.confidence([one])):
        with pytest.raises(ValueError, match=message):
            call(long)
    short = SignatureWords(None, learned_tokenizer(), longest=3)
    with pytest.raises(ValueError, match="fewer than 3 pieces"):
        short.aligner()(translation_of(("dog dog dog", "Hund")))
    long = translation_of(("that " * 300, "das mein"))
    assert signatures.patient_aligner()(long) == [(0, 0), (100, 1)]
