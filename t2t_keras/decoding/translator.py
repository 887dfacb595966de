"""Text in, text out: sentences are put together by length, and come back in their order."""

import numpy as np

END = 2
WIDTHS = 8  # batches are as wide as a multiple of this, so that few shapes are compiled


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
        for rows in self.batches([len(ids) for ids in encoded]):
            width = -(-(len(encoded[rows[0]]) + 1) // WIDTHS) * WIDTHS
            source = np.zeros((len(rows), width), "int32")
            for row, number in enumerate(rows):
                ids = encoded[number]
                source[row, : len(ids) + 1] = [*ids, END]
            tokens, scores = (np.asarray(part) for part in self.decode(source))
            texts_of = self.tokenizer.decode(tokens.reshape(-1, tokens.shape[-1]))
            n_best = tokens.shape[1]
            for row, number in enumerate(rows):
                found = zip(texts_of[row * n_best : (row + 1) * n_best], scores[row], strict=True)
                results[number] = [(text, float(s)) for text, s in found if np.isfinite(s)]
            done += len(rows)
            advanced(done)
        return results

    def batches(self, lengths):
        """Numbers of texts, batch by batch; the longest first, because it needs most memory."""
        order = sorted((n for n, length in enumerate(lengths) if length), key=lambda n: -lengths[n])
        while order:
            rows = max(1, self.batch_tokens // (lengths[order[0]] + 1))
            yield order[:rows]
            order = order[rows:]
