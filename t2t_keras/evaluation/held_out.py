"""What a model is evaluated on while it is trained: batches for the loss, texts for BLEU."""

from t2t_keras.evaluation.bleu import bleu


class HeldOut:
    """Sentence pairs that the training does not see.

    Args:
        data: `data.distributed(strategy)` gives the batches of one pass.
        sources, references: the texts.
        translator: `translator.translate(texts)` gives `Translation`s of each text,
            the best first.
        shown: how many translations to show.
    """

    def __init__(self, data, sources, references, translator, shown=3):
        self.data, self.sources, self.references = data, sources, references
        self.translator, self.shown = translator, shown

    def distributed(self, strategy):
        return self.data.distributed(strategy)

    def translate(self):
        """BLEU, and lines that show some translations."""
        found = [best[0].text for best in self.translator.translate(list(self.sources))]
        score = bleu(found, self.references)
        examples = []
        for number in range(min(self.shown, len(found))):
            examples += [
                f"  source     {self.sources[number]}",
                f"  reference  {self.references[number]}",
                f"  output     {found[number]}",
            ]
        return {"bleu": score.score, "bleu_signature": score.signature, "examples": examples}
