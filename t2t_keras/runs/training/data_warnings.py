"""Warns before training if files are probably not those that the user meant."""

import numpy as np

from pipelines.batches.id_store import SIDES

SAMPLE = 200_000  # maximum number of ids per side and shard that are counted
LINES = 1000  # maximum number of lines of a held-out set that are compared
FEWEST = 50  # minimum number of tokens for recognizing a language
DIFFERENCE = 1.0  # nats per token by which the wrong language must be more probable


def swapped_warnings(texts, store, tokenizer):
    """Yields a warning for each side of a held-out set that is in the language of the other side.

    The check compares token frequencies with those on the two sides of the training text, if both
    sides share a vocabulary. The held-out text must be much more probable under the frequencies of
    the wrong side, so that similar languages and training in both directions cause no warning.

    Args:
        texts: {name of a held-out set: pairs}.
        store: the `IdStore` of the training text.
        tokenizer: the tokenizer of the training text, without a tag.
    """
    if tokenizer.source is not tokenizer.target:
        return
    log_p = {side: token_log_p(store, side, tokenizer.size) for side in SIDES}
    for name, pairs in texts.items():
        columns = zip(*pairs[:LINES], strict=True)
        for side, other, lines in zip(SIDES, SIDES[::-1], columns, strict=True):
            ids = np.concatenate(tokenizer.encode(list(lines)))
            gain = log_p[other][ids] - log_p[side][ids]
            if len(ids) >= FEWEST and gain.mean() > DIFFERENCE:
                yield (
                    f"The held-out {side} text{f' of {name}' if name else ''} seems to be in the "
                    f"language of the training {other} text: {lines[0]!r}. Check that the files "
                    "are not swapped"
                )


def token_log_p(store, side, size):
    """Returns the log-probability of each id on one side of the training text."""
    counts = np.ones(size)
    for shard in store.shards:
        counts += np.bincount(shard.of_side(side)[:SAMPLE], minlength=size)
    return np.log(counts / counts.sum())
