"""Rates the decoder's layers and heads by how well they align words."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from pipelines.progress import Progress
from t2t_keras.decoding.alignment import AlignmentHead, alignment_heads, chosen, cross_attention
from t2t_keras.decoding.rows import END
from t2t_keras.evaluation.alignment_error_rate import alignment_error_rate, read_gold
from t2t_keras.translating.words import between_words, linked


class RatedHead(NamedTuple):
    """An attention head and the scores used to rank it."""

    head: AlignmentHead
    agreement: float  # fraction of links where each word is the other's best match
    error_rate: float | None  # None: no reference alignments were given


def rate_heads(run, sources, targets, alignments=None, weights=None, name="alignments"):
    """Returns the `RatedHead`s of a run, best first; arguments as in `Run.choose_alignment`.

    With reference alignments, the head with the lowest alignment error rate is the best. Without,
    it is the head with the highest agreement, and shifted heads are left out.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(
            "aligning needs source sentences and as many translations. Received: "
            f"{len(sources):,} and {len(targets):,}"
        )
    heads = alignment_heads(run.experiment().model)
    if alignments is None:
        # Agreement cannot detect that all links are one word off.
        heads = [head for head in heads if not head.shifted]
    maps = word_maps(run, sources, targets, heads, weights)
    rated, gold = [], None
    if alignments is not None:
        gold = read_gold(alignments, [weights[0].shape[::-1] for weights in maps], name)
    for index, head in enumerate(heads):
        ours = [weights[index] for weights in maps]
        error_rate = alignment_error_rate([linked(each) for each in ours], gold) if gold else None
        rated.append(RatedHead(head, agreement(ours), error_rate))
    return sorted(rated, key=lambda each: (each.error_rate or 0, -each.agreement))


def word_maps(run, sources, targets, heads, weights=None):
    """Returns one array per pair, `[heads, target words, source words]`."""
    model, tokenizer = run.loaded(weights), run.tokenizer()
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(input_signature=[ids, ids], autograph=False)
    def attention(source, target):
        layers = cross_attention(model, source, target)
        return tf.stack([chosen(layers, head)[0] for head in heads])

    pairs = zip(tokenizer.source.encode(sources), tokenizer.target.encode(targets), strict=True)
    maps = []
    with Progress("aligning", len(sources), "pairs") as progress:
        for source, target in pairs:
            source, target = (np.append(ids, END).astype("int32") for ids in (source, target))
            weights = attention(source[None], target[None]).numpy()
            maps.append(between_words(tokenizer, source, target, weights))
            progress.to(len(maps))
    return maps


def agreement(maps):
    """Returns the fraction of links where each word is the other's best match."""
    both = total = 0
    for weights in maps:
        if weights.size:
            back = weights.argmax(axis=0)  # the best target word of each source word
            both += sum(back[source] == target for source, target in linked(weights))
            total += len(weights)
    return float(both / total) if total else 0.0
