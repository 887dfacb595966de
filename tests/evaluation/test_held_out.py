from t2t_keras.evaluation.held_out import Example, HeldOut, typical


class CopyingTranslator:
    """Returns every text unchanged."""

    def translate(self, texts, on_progress):
        on_progress(len(texts))
        return texts


def test_the_best_translations_are_scored_and_shown():
    sources = ["A dog sees the small cat .", "The teacher reads an old letter .", "I sleep ."]
    references = [*sources[:2], "You sleep ."]
    held_out, progress = HeldOut(None, sources, references, CopyingTranslator(), shown=2), []
    results = held_out.translate(lambda *counts: progress.append(counts))
    assert progress == [(0, 3), (3, 3)]
    assert 50 < results.metrics["bleu"] < 100
    assert "tok:13a" in results.metrics["bleu_signature"]
    assert results.examples == [Example(text, text, text) for text in sources[:2]]


def test_examples_are_different_sentences_of_typical_length():
    long = "A dog sees the small cat that the old teacher has brought ."
    texts = [*["Yes ."] * 3, long, "I sleep now .", "", "A dog sleeps .", "I sleep now ."]
    assert [texts[index] for index in typical(texts, 2)] == ["I sleep now .", "A dog sleeps ."]
    assert typical(texts, 9) == [0, 3, 4, 5, 6], "each text once, in their order"
    assert typical([], 3) == []
