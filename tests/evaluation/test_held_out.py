from t2t_keras.decoding.translator import Translation
from t2t_keras.evaluation.held_out import HeldOut


class Copies:
    """Translates everything into itself."""

    def translate(self, texts):
        return [[Translation(text, 0.0, []), Translation("worse", -1.0, [])] for text in texts]


def test_the_best_translations_are_compared_and_shown():
    sources = ["A dog sees the small cat .", "The teacher reads an old letter .", "I sleep ."]
    references = [*sources[:2], "You sleep ."]
    results = HeldOut(None, sources, references, Copies(), shown=2).translate()
    assert 50 < results["bleu"] < 100
    assert "tok:13a" in results["bleu_signature"]
    assert results["examples"] == [
        f"  {what:<9}  {text}" for text in sources[:2] for what in ("source", "reference", "output")
    ]
