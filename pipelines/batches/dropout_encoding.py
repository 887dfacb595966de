"""Additional encodings of the cleaned text, with BPE dropout."""

import itertools

import numpy as np

from pipelines.batches.id_store import SIDES
from pipelines.progress import Progress
from pipelines.text.cleaned_text import index_of, lines_of
from pipelines.tokenizers.bpe_dropout import BpeDropout

BLOCK = 512  # lines encoded together


def with_dropout(shard, part, tokenizer, config):
    """Returns a shard with additional encodings of its sentences.

    The random merges depend only on the seed, the index of the part, and the side. So they are the
    same on every machine, and the order in which parts are encoded does not matter.

    Args:
        shard: a `Shard` with the encodings without dropout.
        part: the folder with the shard's cleaned text.
        tokenizer: a tokenizer, see `pipelines.tokenizers`.
        config: an `EncodingsConfig`.
    """
    if config.per_sentence == 1 or not len(shard):
        return shard
    texts = [lines_of(part / side) for side in SIDES]
    total = 2 * len(shard) * (config.per_sentence - 1)
    with Progress("encoding with dropout", total, unit="sentences") as progress:
        return encoded_with_dropout(shard, texts, tokenizer, config, index_of(part), progress)


def encoded_with_dropout(shard, texts, tokenizer, config, index=0, progress=None):
    """Returns a shard with additional encodings of its sentences.

    Args:
        shard, tokenizer, config: see `with_dropout`.
        texts: two iterables of normalized strings: the sources and the targets.
        index: index of the shard.
        progress: a `Progress` that counts sentences, or None.
    """
    times = config.per_sentence - 1
    ids, lengths = ([[[] for _ in SIDES] for _ in range(times)] for _ in range(2))
    for side, lines in enumerate(texts):
        encoder = BpeDropout(getattr(tokenizer, SIDES[side]), config.bpe_dropout)
        random = np.random.default_rng((config.seed, index, side))
        for block in in_blocks(lines):
            flat, counts = encoder.encode(block, random, times)
            ends = np.cumsum(counts.sum(axis=1))[:-1]
            for encoding, of_encoding in enumerate(np.split(flat, ends)):
                ids[encoding][side].append(of_encoding)
                lengths[encoding][side].append(counts[encoding])
            if progress:
                progress.to(progress.done + counts.size)
    flat = np.concatenate([block for sides in ids for side in sides for block in side])
    return shard.with_encodings(flat, [np.concatenate(side) for sides in lengths for side in sides])


def in_blocks(lines):
    """Yields lists of `BLOCK` lines. The last list may be shorter."""
    lines = iter(lines)
    while block := list(itertools.islice(lines, BLOCK)):
        yield block
