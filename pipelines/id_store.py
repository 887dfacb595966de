"""The id store: an encoded corpus that is read at random and may be larger than memory.

A store is a folder of shards. A shard is a folder of two arrays: the ids of all its sentences, one
after another and all sources first, and the position at which each sentence ends. Reading maps the
ids into memory and gathers a batch with a few array operations, without parsing.

Sentences are stored without begin and end, which are added when a batch is made.
"""

import errno
from pathlib import Path

import numpy as np

from pipelines.whole import read_json, whole_folder

SIDES = ("source", "target")


class Shard:
    """Encoded pairs as two arrays.

    Args:
        ids: the ids of all sentences, all sources first.
        ends: `[2, pairs + 1]`. Sentence i has the ids `ids[ends[side, i] : ends[side, i + 1]]`.
    """

    def __init__(self, ids, ends):
        self.ids = ids
        self.ends = dict(zip(SIDES, ends, strict=True))

    def __len__(self):
        return len(self.ends["source"]) - 1

    @classmethod
    def of(cls, pairs):
        """Returns a shard in memory, built from an iterable of (source ids, target ids)."""
        pairs = list(pairs)
        sentences = [source for source, _ in pairs] + [target for _, target in pairs]
        ids = np.concatenate([np.asarray(s, "int32") for s in sentences] or [np.zeros(0, "int32")])
        return cls.of_lengths(ids, *(list(map(len, side)) for side in zip(*pairs, strict=True)))

    @classmethod
    def of_lengths(cls, ids, source_lengths=(), target_lengths=()):
        """Returns a shard in memory, built from flat ids and the lengths of the sentences."""
        ends = np.cumsum([0, *source_lengths, *target_lengths], dtype="int64")
        half = len(source_lengths)
        return cls(ids, np.stack([ends[: half + 1], ends[half:]]))

    def of_side(self, side):
        """Returns the ids of all sentences of one side."""
        return self.ids[self.ends[side][0] : self.ends[side][-1]]

    @classmethod
    def read(cls, folder):
        """Opens a shard on disk and maps its ids into memory."""
        folder = Path(folder)
        try:
            # An array without elements cannot be mapped. Its file is a header of 128 bytes.
            mode = "r" if (folder / "ids.npy").stat().st_size > 128 else None
            ends = np.load(folder / "ends.npy")
            return cls(np.load(folder / "ids.npy", mmap_mode=mode), ends)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EMFILE:
                raise  # too many open files; the shard itself is fine
            raise ValueError(
                f"{folder} is missing or damaged ({error}). Delete it and run the same command "
                "again: t2t-prepare creates only this shard again"
            ) from error

    def write(self, folder):
        """Writes the shard to a folder that is complete or absent."""
        with whole_folder(folder) as unfinished:
            np.save(unfinished / "ids.npy", compact(self.ids))
            np.save(unfinished / "ends.npy", np.stack(list(self.ends.values())))


class IdStore:
    """All pairs of a corpus, indexed from 0 through its shards in order.

    Args:
        shards: an iterable of `Shard`s.

    Attributes:
        lengths: `[pairs, 2]`, number of ids of each source and target.
    """

    def __init__(self, shards):
        self.shards = list(shards)
        self.first = np.cumsum([0] + [len(shard) for shard in self.shards])
        lengths = [
            np.stack([np.diff(shard.ends[side]) for side in SIDES], axis=1) for shard in self.shards
        ]
        self.lengths = np.concatenate(lengths or [np.zeros((0, 2))]).astype("int32")

    def __len__(self):
        return int(self.first[-1])

    @classmethod
    def read(cls, folder):
        """Opens all shards of a folder. Raises `ValueError` if the store is incomplete."""
        folder = Path(folder)
        names = shards_in(folder)
        if (folder / "store.json").exists():
            missing = [name for name in contents_of(folder) if name not in names]
            if missing:
                raise ValueError(
                    f"{folder} has lost {', '.join(missing)}. Run the t2t-prepare command once "
                    "more: it creates only the missing shards"
                )
        elif not names or (folder / "preparation.json").exists():
            raise ValueError(
                f"{folder} holds no finished data. Run t2t-prepare, again if it was interrupted"
            )
        return cls(Shard.read(folder / name) for name in names)

    def gather(self, side, examples, width):
        """Returns the ids of one side of some pairs, padded or cut: int32 `[examples, width]`."""
        examples = np.asarray(examples)
        rows = np.zeros((len(examples), width), "int32")
        shard_indices = np.searchsorted(self.first, examples, side="right") - 1
        columns = np.arange(width)
        for index in np.unique(shard_indices):
            in_shard = np.flatnonzero(shard_indices == index)
            shard, inside = self.shards[index], examples[in_shard] - self.first[index]
            starts, ends = shard.ends[side][inside], shard.ends[side][inside + 1]
            real = columns < (ends - starts)[:, None]  # [examples in the shard, width]
            block = np.zeros(real.shape, "int32")
            block[real] = shard.ids[(starts[:, None] + columns)[real]]
            rows[in_shard] = block
        return rows


def shards_in(folder):
    """Returns the names of the finished shards in a folder, in order."""
    return sorted(p.name for p in Path(folder).glob("shard-*") if p.suffix != ".unfinished")


def contents_of(folder):
    """Returns a dictionary from the shards of a finished store to their numbers of pairs."""
    return read_json(Path(folder) / "store.json")


def compact(ids):
    """Stores ids in two bytes each if they fit."""
    return ids.astype("uint16") if not len(ids) or ids.max() < 2**16 else ids
