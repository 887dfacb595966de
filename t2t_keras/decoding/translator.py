"""Text in, text out: sentences are put together by length, and come back in their order."""

import numpy as np

from t2t_keras.decoding.batches import batches, padded
from t2t_keras.decoding.hypotheses import END


class Translator:
    """Translates lists of texts.

    Args:
        tokenizer: has `encode(texts)` and `decode(sequences)`.
        decode: source ids `[rows, length]` → `Hypotheses`, the best first.
        batch_tokens: rows × length of a batch, at most (one row is always taken).
    """

    def __init__(self, tokenizer, decode, batch_tokens=4096):
        self.tokenizer, self.decode, self.batch_tokens = tokenizer, decode, batch_tokens

    def translate(self, texts, advanced=lambda count: None):
        """The translations of each text.

        Args:
            texts: a list. A text without a token is translated to nothing.
            advanced: called with the number of texts that are done so far.

        Returns:
            For each text a list of (translation, score), the best first.
        """
        encoded = self.tokenizer.encode(texts) if texts else []
        results, done = [[("", 0.0)] for _ in texts], 0
        lengths = {number: len(ids) + 1 for number, ids in enumerate(encoded) if len(ids)}
        for rows in batches(lengths, self.batch_tokens):
            source = padded([[*encoded[number], END] for number in rows])
            tokens, scores = (np.asarray(part) for part in self.decode(source))
            texts_of = self.tokenizer.decode(tokens.reshape(-1, tokens.shape[-1]))
            n_best = tokens.shape[1]
            for row, number in enumerate(rows):
                found = zip(texts_of[row * n_best : (row + 1) * n_best], scores[row], strict=True)
                results[number] = [(text, float(s)) for text, s in found if np.isfinite(s)]
            done += len(rows)
            advanced(done)
        return results
