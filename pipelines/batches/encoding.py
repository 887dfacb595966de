"""Encodes text: the sub-words of each sentence, and further encodings with BPE dropout."""

import itertools

import numpy as np

from pipelines.batches.id_store import SIDES, IdStore, Shard
from pipelines.tokenizers.bpe_dropout import BpeDropout, EncodingsConfig, refuse_other_kinds

BLOCK = 512  # lines encoded together


def encoded(pairs, tokenizer, encodings=None):
    """Encodes a small corpus, (source, target) pairs, and returns it as an id store in memory.

    Without an `EncodingsConfig`, each sentence has one encoding.
    """
    return IdStore([encode(zip(*pairs, strict=True), tokenizer, encodings)])


def encode(sides, tokenizer, config=None, index=0, progress=None):
    """Encodes texts and returns them as a shard in memory.

    The random merges depend only on the seed, the index of the shard, and the side. So they are the
    same on every machine, and the order in which shards are encoded does not matter.

    `sides` are two iterables of texts: the sources and the targets. A `Progress` counts sentences.
    """
    config = config or EncodingsConfig()
    refuse_other_kinds(config, tokenizer)
    times = config.per_sentence
    ids, lengths = ([[] for _ in range(2 * times)] for _ in range(2))  # as in `Shard`
    for side, (name, texts) in enumerate(zip(SIDES, sides, strict=True)):
        own = getattr(tokenizer, name)
        dropout = BpeDropout(own, config.bpe_dropout) if times > 1 else None
        random = np.random.default_rng((config.seed, index, side))
        texts = iter(texts)
        while block := list(itertools.islice(texts, BLOCK)):
            plain = own.encode(block)
            encodings = [(np.concatenate(plain), [*map(len, plain)])]
            if dropout:
                normalized = [own.normalization(text) for text in block]
                encodings += dropout.encode(normalized, random, times - 1)
            for encoding, (flat, counts) in enumerate(encodings):
                ids[2 * encoding + side].append(flat)
                lengths[2 * encoding + side].append(counts)
            if progress:
                progress.to(progress.done + len(block))
    if not lengths[0]:
        return Shard.of([])
    flat = np.concatenate([block for row in ids for block in row])
    return Shard.of_lengths(flat, *map(np.concatenate, lengths))
