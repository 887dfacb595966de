"""What a model is evaluated on while it is trained: batches for the loss, texts for BLEU."""

import numpy as np

from t2t_keras.evaluation.bleu import bleu


class HeldOut:
    """Sentence pairs that the training does not see.

    Args:
        data: `data.plan` with `steps` batches in one pass, `data.distributed(strategy)` the
            batches, `data.inputs(step)` the numbers of a batch's pairs and its source ids.
        sources, references: the texts.
        decode: source ids `[rows, length]` → output ids.
        to_text: lists of ids → texts.
        shown: how many translations to show.
    """

    def __init__(self, data, sources, references, decode, to_text, shown=3):
        self.data, self.sources, self.references = data, sources, references
        self.decode, self.to_text, self.shown = decode, to_text, shown

    def distributed(self, strategy):
        return self.data.distributed(strategy)

    def hypotheses(self):
        """The translation of each source, in their order."""
        found = [""] * len(self.sources)
        for step in range(self.data.plan.steps):
            examples, source = self.data.inputs(step)
            outputs = np.asarray(self.decode(source))[: len(examples)]
            for example, text in zip(examples, self.to_text(outputs), strict=True):
                found[example] = text
        return found

    def translate(self):
        """BLEU, and lines that show some translations."""
        found = self.hypotheses()
        score = bleu(found, self.references)
        examples = []
        for number in range(min(self.shown, len(found))):
            examples += [
                f"  source     {self.sources[number]}",
                f"  reference  {self.references[number]}",
                f"  output     {found[number]}",
            ]
        return {"bleu": score.score, "bleu_signature": score.signature, "examples": examples}
