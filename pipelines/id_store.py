"""An encoded corpus: the ids of every pair, flat, read at random.

A store is a folder of shards. A shard is a folder of two arrays: the ids of all its sentences one
after another, first those of the source, and where each sentence ends. It is written beside its
place and then renamed: a shard that is there is whole. Reading maps the ids into memory, so that
a corpus may be larger than it, and gathers a batch with a few array operations and no parsing.

Ids are stored without begin and end: what stands around a sentence is the batch's business.
"""

import errno
from pathlib import Path

import numpy as np

from pipelines.whole import read_json, whole_folder

SIDES = ("source", "target")


class Shard:
    """Pairs as two arrays.

    Args:
        ids: of all sentences, those of the source first.
        ends: `[2, pairs + 1]`. The ids of sentence i are `ids[ends[side, i] : ends[side, i + 1]]`.
    """

    def __init__(self, ids, ends):
        self.ids = ids
        self.ends = dict(zip(SIDES, ends, strict=True))

    def __len__(self):
        return len(self.ends["source"]) - 1

    @classmethod
    def of(cls, pairs):
        """A shard in memory, from an iterable of (source ids, target ids)."""
        pairs = list(pairs)
        sentences = [source for source, _ in pairs] + [target for _, target in pairs]
        ids = np.concatenate([np.asarray(s, "int32") for s in sentences] or [np.zeros(0, "int32")])
        return cls.of_lengths(ids, *(list(map(len, side)) for side in zip(*pairs, strict=True)))

    @classmethod
    def of_lengths(cls, ids, source_lengths=(), target_lengths=()):
        """A shard from flat ids and the sentences' lengths."""
        ends = np.cumsum([0, *source_lengths, *target_lengths], dtype="int64")
        half = len(source_lengths)
        return cls(ids, np.stack([ends[: half + 1], ends[half:]]))

    def of_side(self, side):
        """All ids of one side."""
        return self.ids[self.ends[side][0] : self.ends[side][-1]]

    @classmethod
    def read(cls, folder):
        """Maps a written shard's ids into memory."""
        folder = Path(folder)
        try:
            # An empty file cannot be mapped; a shard of empty sentences has empty ids.
            mode = "r" if (folder / "ids.npy").stat().st_size > 128 else None
            ends = np.load(folder / "ends.npy")
            return cls(np.load(folder / "ids.npy", mmap_mode=mode), ends)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EMFILE:
                raise  # nothing is wrong with the file
            raise ValueError(
                f"{folder} is missing or damaged ({error}). Delete it and prepare the data "
                "again with the same command: only this shard will be made anew"
            ) from error

    def write(self, folder):
        """Writes the shard; `folder` appears at once and whole, or not at all."""
        with whole_folder(folder) as unfinished:
            np.save(unfinished / "ids.npy", compact(self.ids))
            np.save(unfinished / "ends.npy", np.stack(list(self.ends.values())))


class IdStore:
    """All pairs of a corpus, numbered from 0 through its shards in order.

    Args:
        shards: `Shard`s.

    Attributes:
        lengths: `[pairs, 2]`, how many ids source and target have.
    """

    def __init__(self, shards):
        self.shards = list(shards)
        self.first = np.cumsum([0] + [len(shard) for shard in self.shards])
        parts = [
            np.stack([np.diff(shard.ends[side]) for side in SIDES], axis=1) for shard in self.shards
        ]
        self.lengths = np.concatenate(parts or [np.zeros((0, 2))]).astype("int32")

    def __len__(self):
        return int(self.first[-1])

    @classmethod
    def read(cls, folder):
        """Opens the shards of a folder, all that its contents name."""
        folder = Path(folder)
        found = shards_in(folder)
        if (folder / "store.json").exists():
            missing = [name for name in contents_of(folder) if name not in found]
            if missing:
                raise ValueError(
                    f"{folder} has lost {', '.join(missing)}. Prepare the data again with the same "
                    "command: only what is missing will be made anew"
                )
        elif not found or (folder / "preparation.json").exists():
            raise ValueError(
                f"{folder} holds no finished data. Run t2t-prepare, or once more if it was "
                "interrupted"
            )
        return cls(Shard.read(folder / name) for name in found)

    def gather(self, side, examples, width):
        """The ids of some pairs' `side`, padded with 0 or cut: int32 `[examples, width]`."""
        examples = np.asarray(examples)
        rows = np.zeros((len(examples), width), "int32")
        shard_of = np.searchsorted(self.first, examples, side="right") - 1
        columns = np.arange(width)
        for number in np.unique(shard_of):
            mine = np.flatnonzero(shard_of == number)
            shard, inside = self.shards[number], examples[mine] - self.first[number]
            starts, ends = shard.ends[side][inside], shard.ends[side][inside + 1]
            real = columns < (ends - starts)[:, None]  # [rows, width]
            block = np.zeros(real.shape, "int32")
            block[real] = shard.ids[(starts[:, None] + columns)[real]]
            rows[mine] = block
        return rows


def shards_in(folder):
    """The names of a folder's finished shards, in order."""
    return sorted(p.name for p in Path(folder).glob("shard-*") if p.suffix != ".unfinished")


def contents_of(folder):
    """Which shards a finished store has, and how many pairs each."""
    return read_json(Path(folder) / "store.json")


def compact(ids):
    """Two bytes an id where that is enough."""
    return ids.astype("uint16") if not len(ids) or ids.max() < 2**16 else ids
