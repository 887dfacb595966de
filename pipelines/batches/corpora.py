"""Reads several folders of prepared data as one store, with a share for each corpus.

    corpora = read_corpora("data/general:1,data/mine:4")
    plan = BatchPlan(corpora.store.lengths + 1, config, seed=1, mix=corpora.mix)

The weights are optional. Corpora that are read together must have the same vocabulary.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipelines.atomic_files import read_json
from pipelines.batches.id_store import IdStore
from pipelines.tokenizers import load_tokenizer


class Mix:
    """Corpora whose sentence pairs are numbered consecutively.

    Args:
        names: name of each corpus.
        sizes: number of pairs of each corpus.
        weights: relative share of each corpus in the pairs of a batch. If None, every pair of every
            corpus is seen equally often.
    """

    def __init__(self, names, sizes, weights=None):
        self.names = list(names)
        self.ends = np.cumsum(list(sizes))
        self.weights = None if weights is None else np.array(weights, float)

    def corpus_of(self, examples):
        """Returns the index of the corpus that each example belongs to."""
        return np.searchsorted(self.ends, examples, side="right")

    def counts(self, examples):
        """Returns {corpus: number of examples}."""
        counts = np.bincount(self.corpus_of(examples), minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))

    def passes(self, kept):
        """Returns the number of times that an epoch contains each pair of a corpus, `[corpora]`.

        An epoch has as many pairs as all corpora together. `kept` are those that fit in a batch.
        """
        counts = self.counts(kept)
        if empty := [name for name, count in counts.items() if not count]:
            raise ValueError(
                f"The corpus {empty[0]!r} has no pair that is short enough for a batch. Leave it "
                "out, or increase data.batches.max_length"
            )
        if self.weights is None:
            return np.ones(len(counts))
        return len(kept) * (self.weights / self.weights.sum()) / [*counts.values()]

    def groups(self, members, passes):
        """Returns (examples, number of draws per epoch) for each corpus in a bucket's examples."""
        corpus = self.corpus_of(members)
        groups = [members[corpus == index] for index in range(len(self.names))]
        # At least one draw per epoch, so that every pair is seen eventually.
        return [
            (group, max(1, round(len(group) * times)))
            for group, times in zip(groups, passes.tolist(), strict=True)
            if len(group)
        ]

    def lines(self, kept):
        """Returns a line about each corpus: pairs, share, occurrences of each pair per epoch."""
        return [
            f"{name}: {count:,} pairs, {times * count / len(kept):.1%} of every epoch, each pair "
            f"{times:.3g} times"
            for (name, count), times in zip(
                self.counts(kept).items(), self.passes(kept), strict=True
            )
        ]


def drawn(members, count, epoch, seed):
    """Returns an epoch's draws: the next part of an endless sequence of shuffled passes.

    After any number of epochs, the numbers of draws of any two members differ by at most one.
    `count` is the number of draws in every epoch, and `seed` a tuple of integers.
    """
    size = len(members)
    if count == size:
        return members
    start = epoch * count
    first, last = start // size, (start + count - 1) // size
    passes = range(first, last + 1)
    shuffled = [np.random.default_rng((*seed, each)).permutation(members) for each in passes]
    return np.concatenate(shuffled)[start - first * size :][:count]


class Corpora(NamedTuple):
    """Prepared data of one or several folders."""

    store: IdStore  # with the pairs of all corpora, concatenated
    vocabulary: Path  # of the folder with the shared vocabulary
    mix: Mix | None  # None for a single corpus
    tags: list  # the tag of each corpus; None for a corpus without a tag


def corpora_in(text):
    """Returns {folder: its weight in a mix, or None}.

    Args:
        text: "FOLDER", "FOLDER,FOLDER" or "FOLDER:WEIGHT,FOLDER:WEIGHT".
    """
    if not text or Path(text).exists():  # a folder's name may contain commas and colons
        return {text: None}
    corpora = []
    for part in text.split(","):
        folder, colon, weight = part.rpartition(":")
        has_weight = colon and not Path(part).exists()
        corpora.append((folder, weight) if has_weight else (part, None))
    folders, weights = zip(*corpora, strict=True)
    try:
        weights = weights if set(weights) == {None} else [*map(float, weights)]
        is_right = all(folders) and all(w is None or 0 < w < math.inf for w in weights)
    except (TypeError, ValueError):
        is_right = False
    if not is_right:
        raise ValueError(
            "Corpora must be FOLDER,FOLDER or FOLDER:WEIGHT,FOLDER:WEIGHT, with a positive number "
            f"as the weight of each; without weights, every pair is seen equally often. Received: "
            f"{text}"
        )
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise ValueError(f"The corpora must be different folders. Received: {text}")
    return dict(zip(folders, weights, strict=True))


def read_corpora(text, temperature=1.0):
    """Opens prepared data and returns its `Corpora`.

    Args:
        text: see `corpora_in`.
        temperature: temperature T for corpora without weights. The share of each corpus is
            proportional to pairs^(1/T) (Arivazhagan et al. 2019, arXiv 1907.05019). With 1, every
            pair is seen equally often. Larger values show small corpora more often.
    """
    corpora = corpora_in(text)
    folders, weights = [*map(Path, corpora)], [*corpora.values()]
    if temperature != 1 and (len(corpora) == 1 or None not in weights):
        raise ValueError(
            "`data.corpus_temperature` is for several corpora without weights, such as "
            f"data/a,data/b. Received: data.corpus_temperature={temperature}, {text}"
        )
    stores = [IdStore.read(folder) for folder in folders]
    vocabulary, *others = (folder / "vocabulary" for folder in folders)
    contents = load_tokenizer(vocabulary).contents()
    for other in others:
        if load_tokenizer(other).contents() != contents:
            raise ValueError(
                f"{other} is a different vocabulary than {vocabulary}, but corpora that are "
                f"trained on together need the same one. Prepare {other.parent} again with "
                f"--vocabulary={vocabulary}, or both with the vocabulary of --init"
            )
    tags = [read_json(folder / "preparation.json", {}).get("tag") for folder in folders]
    if len(stores) == 1:
        return Corpora(stores[0], vocabulary, None, tags)
    if temperature != 1:
        weights = [len(store) ** (1 / temperature) for store in stores]
    # The last part of each folder's path, or the whole path where that is ambiguous.
    short = [folder.name for folder in folders]
    named = zip(short, corpora, strict=True)
    names = [name if short.count(name) == 1 else folder for name, folder in named]
    mix = Mix(names, map(len, stores), None if None in weights else weights)
    store = IdStore([shard for store in stores for shard in store.shards])
    return Corpora(store, vocabulary, mix, tags)
