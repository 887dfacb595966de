"""Entropy, distance and word links of a model's attention heads, and BLEU without each head."""

import contextlib
import itertools

import numpy as np
from keras import ops

from pipelines.special_ids import BEGIN, END
from pipelines.toy.grammar import aligned_sentences
from t2t_keras.evaluation.bleu import bleu
from t2t_keras.runs.alignment_choice import rate_heads
from t2t_keras.runs.run import Run

LOOKED_AT = 100  # number of sentences whose attention weights are analyzed
TRANSLATED = 200  # number of sentences that are translated without each head


def analyse(folder, step):
    """Measures every attention head of a run on held-out toy sentences, for `analysed`.

    Returns:
        {"bleu": BLEU with all heads, "heads": {sub-layer: [a dict for each head]}}, in JSON types.
        A head's dict has its mean "entropy" in nats, and the "bleu" without it. For self-attention,
        the dict also has the mean "distance" in tokens; for cross-attention, the "agreement" with
        the word links of the grammar. Values that do not apply are None.
    """
    run, weights = Run(folder), str(step)
    triples = list(itertools.islice(aligned_sentences("test"), TRANSLATED))
    sources, references, alignments = map(list, zip(*triples, strict=True))
    read = slice(LOOKED_AT)
    agreement = agreements(run, weights, sources[read], references[read], alignments[read])
    looks = attention_statistics(run, weights, sources[read], references[read])

    def score():
        return bleu(run.translate(sources, weights), references).score

    complete, without = score(), without_each_head(run.loaded(weights), score)
    heads = {
        name: [
            {**looks[name][head], "agreement": agreement.get((name, head)), "bleu": found}
            for head, found in enumerate(scores)
        ]
        for name, scores in without.items()
    }
    return {"bleu": complete, "heads": heads}


def without_each_head(model, measure):
    """Returns {sub-layer: a list with the result of `measure()` without each head}."""
    found = {}
    for name, attention in attentions(model).items():
        found[name] = []
        for head in range(attention.num_heads):
            with without_head(attention, head):
                found[name].append(measure())
    return found


def attentions(model):
    """Returns {name in `Transformer.attention_weights`: `MultiHeadAttention` layer}."""
    kinds = {"encoder": ["self_attention"], "decoder": ["self_attention", "cross_attention"]}
    return {
        f"{stack}/{index}/{kind}": getattr(block, kind).sublayer
        for stack, names in kinds.items()
        for index, block in enumerate(getattr(model, stack).blocks)
        for kind in names
    }


@contextlib.contextmanager
def without_head(attention, head):
    """Sets the output of a head to 0 inside the `with` block."""
    kernel = attention.output_projection.kernel  # [h · d_v, d_model]
    complete = ops.convert_to_numpy(kernel)
    changed = complete.copy()
    changed[head * attention.d_v : (head + 1) * attention.d_v] = 0
    kernel.assign(changed)
    try:
        yield
    finally:
        kernel.assign(complete)


def attention_statistics(run, weights, sources, targets):
    """Returns {sub-layer: list with {"entropy", "distance"} for each head}."""
    model, tokenizer = run.loaded(weights), run.tokenizer()
    sums, pairs = {}, list(zip(sources, targets, strict=True))
    for source, target in pairs:
        source = [*tokenizer.source.encode([source])[0], END]
        target = [BEGIN, *tokenizer.target.encode([target])[0]]
        inputs = {"source": np.array([source], "int32"), "target": np.array([target], "int32")}
        for name, array in model.attention_weights(inputs).items():
            p = ops.convert_to_numpy(array)[0]  # [heads, queries, keys]
            means = np.stack([entropy(p), distance(p)], axis=1)  # [heads, 2]
            sums[name] = sums.get(name, 0) + means / len(pairs)
    return {
        name: [
            {"entropy": float(e), "distance": None if "cross" in name else float(d)}
            for e, d in means
        ]
        for name, means in sums.items()
    }


def entropy(p):
    """Returns each head's mean entropy, `[heads]`, from weights `[heads, queries, keys]`."""
    return -np.sum(p * np.log(np.maximum(p, 1e-30)), axis=-1).mean(axis=-1)


def distance(p):
    """Returns each head's mean distance between queries and attended keys, `[heads]`."""
    queries, keys = np.indices(p.shape[1:])
    return np.sum(p * np.abs(queries - keys), axis=-1).mean(axis=-1)


def agreements(run, weights, sources, targets, alignments):
    """Returns {(sub-layer, head): 1 − alignment error rate} for the cross-attention heads.

    A head may link a target word either in the step that predicts the word or in the step that
    takes it as input. The better of the two results counts.
    """
    best = {}
    for rated in rate_heads(run, sources, targets, alignments, weights):
        if rated.head.head is not None:
            key = f"decoder/{rated.head.layer}/cross_attention", rated.head.head
            best[key] = max(best.get(key, 0.0), 1 - rated.error_rate)
    return best
