"""Reads several folders of prepared data as one store, with a share for each corpus.

    corpora = read_corpora("data/general:1,data/mine:4")
    plan = BatchPlan(corpora.store.all_lengths + 1, config, seed=1, mix=corpora.mix)

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

        An epoch has as many pairs as all corpora together.

        Args:
            kept: the pairs that are short enough for a batch.
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

    Args:
        members: array of examples.
        count: number of draws in every epoch.
        epoch: index of the epoch.
        seed: random seed, a tuple of integers.
    """
    size = len(members)
    if count == size:
        return members
    start = epoch * count
    first, last = start // size, (start + count - 1) // size
    shuffled = [
        np.random.default_rng((*seed, index)).permutation(members)
        for index in range(first, last + 1)
    ]
    return np.concatenate(shuffled)[start - first * size :][:count]


class Corpus(NamedTuple):
    """A folder of prepared data, and its weight in a mix (or None)."""

    folder: str
    weight: float | None


class Corpora(NamedTuple):
    """Prepared data of one or several folders."""

    store: IdStore  # with the pairs of all corpora, concatenated
    vocabulary: Path  # of the folder with the shared vocabulary
    mix: Mix | None  # None for a single corpus
    tags: list  # the tag of each corpus; None for a corpus without a tag


def corpora_in(text):
    """Parses "FOLDER", "FOLDER,FOLDER" or "FOLDER:WEIGHT,FOLDER:WEIGHT" into `Corpus`es."""
    if not text or Path(text).exists():  # a folder's name may contain commas and colons
        return [Corpus(text, None)]
    corpora = []
    for part in text.split(","):
        folder, colon, weight = part.rpartition(":")
        if not colon or Path(part).exists():
            folder, weight = part, None
        try:
            value = None if weight is None else float(weight)
        except ValueError:
            value = math.nan
        if not folder or (value is not None and not 0 < value < math.inf):
            raise ValueError(
                "Corpora must be FOLDER, or FOLDER:WEIGHT with a positive number as weight, "
                f"separated by commas. Received: {part!r}"
            )
        corpora.append(Corpus(folder, value))
    if len({corpus.weight is None for corpus in corpora}) > 1:
        raise ValueError(
            "Give a weight to each corpus or to none: with none, every pair is seen equally "
            f"often. Received: {text}"
        )
    folders = [Path(corpus.folder).resolve() for corpus in corpora]
    if len(set(folders)) < len(folders):
        raise ValueError(f"The corpora must be different folders. Received: {text}")
    return corpora


def read_corpora(text, temperature=1.0):
    """Opens prepared data and returns its `Corpora`.

    Args:
        text: see `corpora_in`.
        temperature: temperature T for corpora without weights. The share of each corpus is
            proportional to pairs^(1/T) (Arivazhagan et al. 2019, arXiv 1907.05019). With 1, every
            pair is seen equally often. Larger values show small corpora more often.
    """
    corpora = corpora_in(text)
    if temperature != 1 and (len(corpora) == 1 or corpora[0].weight is not None):
        raise ValueError(
            "`data.corpus_temperature` is for several corpora without weights, such as "
            f"data/a,data/b. Received: data.corpus_temperature={temperature}, {text}"
        )
    stores = [IdStore.read(corpus.folder) for corpus in corpora]
    vocabularies = [Path(corpus.folder) / "vocabulary" for corpus in corpora]
    first, contents = vocabularies[0], [load_tokenizer(each).contents() for each in vocabularies]
    for corpus, vocabulary, own in zip(corpora, vocabularies, contents, strict=True):
        if own != contents[0]:
            raise ValueError(
                f"{vocabulary} is a different vocabulary than {first}, but corpora that are "
                f"trained on together need the same one. Prepare {corpus.folder} again with "
                f"--vocabulary={first}, or both with the vocabulary of --init"
            )
    records = (read_json(Path(corpus.folder) / "preparation.json", {}) for corpus in corpora)
    tags = [record.get("tag") for record in records]
    if len(stores) == 1:
        return Corpora(stores[0], vocabularies[0], None, tags)
    weights = [corpus.weight for corpus in corpora]
    if temperature != 1:
        weights = [len(store) ** (1 / temperature) for store in stores]
    # The last part of each folder's path, or the whole path where that is ambiguous.
    short = [Path(corpus.folder).name for corpus in corpora]
    names = [
        name if short.count(name) == 1 else corpus.folder
        for name, corpus in zip(short, corpora, strict=True)
    ]
    mix = Mix(names, map(len, stores), None if None in weights else weights)
    store = IdStore([shard for store in stores for shard in store.shards])
    return Corpora(store, vocabularies[0], mix, tags)
