"""An encoded corpus: the ids of every pair, flat, read at random.

A store is a folder of shards. A shard is a folder of four arrays, the ids of each side one after
another and where each sentence ends, and is written beside its place and then renamed: a shard
that is there is whole. Reading maps the arrays into memory, so that a corpus may be larger than
it, and gathers a batch with a few array operations and no parsing.

Ids are stored without begin and end: what stands around a sentence is the batch's business.
"""

import shutil
from pathlib import Path

import numpy as np

SIDES = ("source", "target")


class Shard:
    """Pairs as four arrays: `source_ids`, `source_ends`, `target_ids`, `target_ends`.

    The ids of sentence i are `ids[ends[i] : ends[i + 1]]`; the first of the ends is 0.
    """

    def __init__(self, source_ids, source_ends, target_ids, target_ends):
        if len(source_ends) != len(target_ends):
            raise ValueError(
                "Source and target must have the same number of sentences. Received: "
                f"{len(source_ends) - 1} and {len(target_ends) - 1}"
            )
        self.ids = {"source": source_ids, "target": target_ids}
        self.ends = {"source": source_ends, "target": target_ends}

    def __len__(self):
        return len(self.ends["source"]) - 1

    @classmethod
    def of(cls, pairs):
        """A shard in memory, from an iterable of (source ids, target ids)."""
        pairs = list(pairs)
        return cls(*flat([source for source, _ in pairs]), *flat([target for _, target in pairs]))

    @classmethod
    def read(cls, folder):
        """Maps a written shard into memory."""
        arrays = []
        for side in SIDES:
            for part in ("ids", "ends"):
                path = Path(folder) / f"{side}_{part}.npy"
                try:
                    # An empty file cannot be mapped; a shard of empty sentences has empty ids.
                    mode = "r" if path.stat().st_size > 128 else None
                    arrays.append(np.load(path, mmap_mode=mode))
                except (OSError, ValueError) as error:
                    raise ValueError(
                        f"{path} is missing or damaged ({error}). Delete the folder {folder} and "
                        "prepare the data again: only this shard will be made anew"
                    ) from error
        return cls(*arrays)

    def write(self, folder):
        """Writes the shard; `folder` appears at once and whole, or not at all."""
        folder = Path(folder)
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for side in SIDES:
            np.save(unfinished / f"{side}_ids.npy", compact(self.ids[side]))
            np.save(unfinished / f"{side}_ends.npy", self.ends[side])
        unfinished.rename(folder)


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
        """Opens all finished shards of a folder, in the order of their names."""
        folders = sorted(path for path in Path(folder).glob("shard-*") if path.is_dir())
        folders = [path for path in folders if path.suffix != ".unfinished"]
        if not folders:
            raise ValueError(f"There are no shards in {folder}: prepare the data first")
        return cls(Shard.read(path) for path in folders)

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
            block[real] = shard.ids[side][(starts[:, None] + columns)[real]]
            rows[mine] = block
        return rows


def flat(sentences):
    """Sentences of ids one after another, and where each ends."""
    ends = np.cumsum([0] + [len(sentence) for sentence in sentences], dtype="int64")
    ids = np.concatenate([np.asarray(s, "int32") for s in sentences] or [np.zeros(0, "int32")])
    return ids, ends


def compact(ids):
    """Two bytes an id where that is enough."""
    return ids.astype("uint16") if not len(ids) or ids.max() < 2**16 else ids
