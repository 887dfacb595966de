"""Quality, time and memory of a run on documents of one length."""

import itertools
import os
import re
import time
from collections import Counter

import numpy as np

ROUNDS = 3
SENTENCE = re.compile(r"[^.?]+[.?]")


def measure_run(folder, words, count):
    """Translates documents that the run has not seen, and performs a training step on one.

    Args:
        folder: folder of a run that was trained on toy documents.
        words: length of the documents.
        count: number of documents.

    Returns:
        A dict: "tokens", the mean number of source tokens; "bleu"; "pronouns", the share of correct
        pronouns; "translation" and "training", in seconds per document; and "memory", the bytes of
        a training step.
    """
    # TensorFlow's plain CPU allocator does not count all allocations; the BFC allocator does.
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    from pipelines.toy.documents import documents
    from t2t_keras.evaluation.bleu import bleu
    from t2t_keras.runs.run import Run

    run = Run(folder)
    sources, references = zip(
        *itertools.islice(documents(words, "test", seed=words), count), strict=True
    )
    source, target = ids_of(run, sources, references)
    seconds, hypotheses = translated(run, source, longest=target.shape[1] + 50)
    training, memory = training_step(run, source[:1], target[:1])
    counts = [pronouns(*each) for each in zip(sources, references, hypotheses, strict=True)]
    right, total = map(sum, zip(*counts, strict=True))
    return {
        "tokens": np.count_nonzero(source) / count,
        "bleu": bleu(hypotheses, references).score,
        "pronouns": right / max(total, 1),
        "translation": seconds / count,
        "training": training,
        "memory": memory,
    }


def ids_of(run, sources, references):
    """Returns the ids of documents, each with the end id: `[documents, length]` for each side."""
    from t2t_keras.decoding.batches import padded
    from t2t_keras.decoding.rows import END

    tokenizer = run.tokenizer()
    sides = (tokenizer.source.encode(sources), tokenizer.target.encode(references))
    return [padded([[*ids, END] for ids in side]) for side in sides]


def translated(run, source, longest):
    """Returns the seconds of a greedy search, and translations of at most `longest` tokens."""
    from t2t_keras.decoding.rows import Rows
    from t2t_keras.decoding.search import method_of
    from t2t_keras.translating.engines.search_graphs import staged_graph

    model, config = run.model(), run.search(beam=1, extra_length=max(0, longest - source.shape[1]))
    decode, indices = staged_graph(model, config, method_of(model, config)), range(len(source))
    decode(Rows(source[:, :8], indices))  # traces the graph
    started = time.perf_counter()
    tokens, _ = decode(Rows(source, indices))
    tokens = np.asarray(tokens)[:, 0]
    return time.perf_counter() - started, run.tokenizer().target.decode(list(tokens))


def training_step(run, source, labels):
    """Returns the median seconds and the bytes of a training step."""
    import tensorflow as tf

    from t2t_keras.reproduction.timing import median_seconds

    model = run.experiment().compiled_model(metrics=[])
    model.optimizer.build(model.trainable_variables)
    target = np.insert(labels[:, :-1], 0, 1, axis=1)
    batch = tf.nest.map_structure(tf.constant, ({"source": source, "target": target}, labels))
    graph = tf.function(model.train_step, autograph=False)

    def step():
        return float(graph(batch)["loss"])

    step()  # traces the graph
    device = "GPU:0" if tf.config.list_physical_devices("GPU") else "CPU:0"
    tf.config.experimental.reset_memory_stats(device)
    before = tf.config.experimental.get_memory_info(device)["current"]
    seconds = median_seconds([step], ROUNDS, warm_up=0)[0]
    return seconds, tf.config.experimental.get_memory_info(device)["peak"] - before


def pronouns(source, reference, hypothesis):
    """Returns the number of correct translations of "it", and the number of occurrences of "it".

    The pronoun begins or ends its sentence. The n-th sentence of the reference translates the n-th
    sentence of the source. For the sentences of the hypothesis, see `matched`.
    """
    source, reference, hypothesis = (
        [each.split() for each in SENTENCE.findall(text)]
        for text in (source, reference, hypothesis)
    )
    translations = matched(reference, hypothesis)
    right = total = 0
    for index, words in enumerate(source):
        if words[0] != "It" and words[-1] != "it.":
            continue
        place = 0 if words[0] == "It" else -1
        total += 1
        if translations[index] is not None:
            right += hypothesis[translations[index]][place] == reference[index][place]
    return right, total


def matched(reference, hypothesis):
    """Returns the index of the matching hypothesis sentence, or None, for each reference sentence.

    Matches are in order and maximize the share of common words, so that an omitted or added
    sentence does not shift the sentences after it.
    """
    common = np.zeros([len(reference), len(hypothesis)])
    counts = [[Counter(sentence) for sentence in side] for side in (reference, hypothesis)]
    for index, (ours, theirs) in zip(
        np.ndindex(common.shape), itertools.product(*counts), strict=True
    ):
        common[index] = (ours & theirs).total() / max(ours.total(), theirs.total())
    best = np.zeros([len(reference) + 1, len(hypothesis) + 1])  # best sum of the first i and j
    for i, j in np.ndindex(common.shape):
        best[i + 1, j + 1] = max(best[i, j] + common[i, j], best[i, j + 1], best[i + 1, j])
    matches, (i, j) = [None] * len(reference), common.shape
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            matches[i] = j
    return matches
