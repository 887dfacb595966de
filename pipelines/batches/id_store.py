"""The id store: an encoded corpus with random access, which may be larger than memory.

A store is a folder of shards. A shard is a folder with two arrays: the concatenated ids of all its
sentences, sources first, and the position at which each sentence ends. The ids are mapped into
memory, and a batch is gathered with a few array operations, without parsing. A third file contains
digests of the arrays, which are verified when the shard is opened. A column, see `columns.py`, is
two more arrays: its values, and the position at which the values of each pair end.

A shard may have several encodings of its sentences. The first one is without dropout.

Sentences are stored without begin and end ids, which are added when a batch is made.
"""

import errno
import functools
from pathlib import Path

import numpy as np

from pipelines.atomic_files import atomic_folder, file_digest, read_json, write_json

SIDES = ("source", "target")
ARRAYS = ("ids.npy", "ends.npy")
COLUMN = ("column-{}.npy", "ends-of-{}.npy")  # the arrays of a column
DIGESTS = "digests.json"


class Shard:
    """Encoded pairs as two arrays.

    Args:
        ids: concatenated ids of all sentences: for each encoding, the sources and then the targets.
        ends: `[2 · encodings, pairs + 1]`. Row 2e is for the sources in encoding e, row 2e + 1 for
            the targets. Sentence i has the ids `ids[ends[row, i] : ends[row, i + 1]]`.
        columns: {name: (values, ends `[pairs + 1]`)}.

    Attributes:
        encodings: number of encodings.
    """

    def __init__(self, ids, ends, columns=None):
        self.ids, self.ends, self.encodings = ids, ends, len(ends) // 2
        self.columns = columns or {}

    def __len__(self):
        return self.ends.shape[1] - 1

    @classmethod
    def of(cls, pairs):
        """Returns a shard in memory, built from an iterable of (source ids, target ids)."""
        pairs = list(pairs)
        sentences = [source for source, _ in pairs] + [target for _, target in pairs]
        ids = np.concatenate([np.zeros(0, "int32"), *(np.asarray(s, "int32") for s in sentences)])
        return cls.of_lengths(ids, *(list(map(len, side)) for side in zip(*pairs, strict=True)))

    @classmethod
    def of_lengths(cls, ids, *lengths):
        """Returns a shard in memory of flat ids, and the lengths of each encoding's two sides."""
        lengths = np.array(lengths or ([], []), "int64")
        ends = np.cumsum(np.concatenate([[0], lengths.ravel()]), dtype="int64")
        pairs = lengths.shape[1]
        return cls(ids, np.stack([ends[i * pairs :][: pairs + 1] for i in range(len(lengths))]))

    def of_side(self, side):
        """Returns the ids of all sentences of one side, without dropout."""
        ends = self.ends[SIDES.index(side)]
        return self.ids[ends[0] : ends[-1]]

    @classmethod
    def read(cls, folder):
        """Opens a shard on disk, verifies its digests and maps its ids into memory."""
        folder = Path(folder)
        try:
            digests = read_json(folder / DIGESTS)
            if digests is None:
                raise FileNotFoundError(f"there is no {DIGESTS}")
            for name in {*ARRAYS, *digests}:
                if file_digest(folder / name) != digests.get(name):
                    raise ValueError(f"{name} does not match its digest")
            names = [name[7:-4] for name in digests if name.startswith("column-")]
            pairs = [ARRAYS, *([file.format(name) for file in COLUMN] for name in names)]
            (ids, ends), *columns = (
                (mapped(folder / values), np.load(folder / ends)) for values, ends in pairs
            )
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EMFILE:
                raise  # too many open files; the shard itself is fine
            raise ValueError(
                f"{folder} is missing or damaged ({error}). Delete it and run the t2t-prepare "
                "command once more: it creates only this shard again"
            ) from error
        return cls(ids, ends, dict(zip(names, columns, strict=True)))

    def write(self, folder):
        """Writes the shard to a folder atomically."""
        with atomic_folder(folder) as unfinished:
            arrays = dict(zip(ARRAYS, (compact(self.ids), self.ends), strict=True))
            for name, column in self.columns.items():
                arrays |= zip((file.format(name) for file in COLUMN), column, strict=True)
            for name, array in arrays.items():
                np.save(unfinished / name, array)
            digests = {name: file_digest(unfinished / name) for name in arrays}
            write_json(unfinished / DIGESTS, digests)


class IdStore:
    """All pairs of a corpus. Indices start at 0 and run through all shards in order.

    Args:
        shards: an iterable of `Shard`s.

    Attributes:
        encodings: number of encodings of each sentence. A shard with fewer encodings repeats them.
    """

    def __init__(self, shards):
        self.shards = list(shards)
        self.first = np.cumsum([0] + [len(shard) for shard in self.shards])
        self.encodings = max((shard.encodings for shard in self.shards), default=1)

    def __len__(self):
        return int(self.first[-1])

    @functools.cached_property
    def lengths(self):
        """The number of ids of each source and target, `[encodings, pairs, 2]`."""
        lengths = np.zeros((self.encodings, len(self), 2), "int32")
        for shard, first in zip(self.shards, self.first, strict=False):
            own = np.diff(shard.ends).reshape(shard.encodings, 2, -1).transpose(0, 2, 1)
            repeated = np.arange(self.encodings) % shard.encodings
            lengths[:, first : first + len(shard)] = own[repeated]
        return lengths

    @classmethod
    def read(cls, folder):
        """Opens all shards of a folder. Raises `ValueError` if the store is incomplete."""
        folder = Path(folder)
        if folder.is_file():
            raise ValueError(
                f"Data for training is a folder that t2t-prepare wrote. Received: the file {folder}"
                ". Prepare text first: t2t-prepare --source=FILE --target=FILE --output=FOLDER"
            )
        names, sizes = shards_in(folder), read_json(folder / "store.json")
        if sizes is None:
            raise ValueError(
                f"{folder} holds no finished data: it has no store.json. Run t2t-prepare, again if "
                "it was interrupted"
            )
        shards = {name: Shard.read(folder / name) for name in names}
        if sizes != {name: len(shard) for name, shard in shards.items()}:
            raise ValueError(
                f"{folder} has other shards than its store.json lists, {', '.join(sizes)}. Run the "
                "t2t-prepare command once more: it creates only the missing shards"
            )
        return cls(shards.values())

    def gather(self, side, examples, width, encodings=0):
        """Returns one side of some pairs as padded or truncated ids, int32 `[examples, width]`.

        `encodings` is the index of the encoding: one integer for all pairs, or one per pair.
        """
        examples = np.asarray(examples)
        encodings = np.broadcast_to(encodings, examples.shape)
        rows = np.zeros((len(examples), width), "int32")
        shard_indices = np.searchsorted(self.first, examples, side="right") - 1
        columns = np.arange(width)
        for index in np.unique(shard_indices):
            in_shard = np.flatnonzero(shard_indices == index)
            shard, inside = self.shards[index], examples[in_shard] - self.first[index]
            row = 2 * (encodings[in_shard] % shard.encodings) + SIDES.index(side)
            starts, ends = (shard.ends[row, inside + i] for i in (0, 1))
            real = columns < (ends - starts)[:, None]  # [examples in the shard, width]
            block = np.zeros(real.shape, "int32")
            block[real] = shard.ids[(starts[:, None] + columns)[real]]
            rows[in_shard] = block
        return rows

    def column(self, name, examples):
        """Returns the values of some pairs in a column, padded with NaN, `[examples, longest]`."""
        examples = np.asarray(examples, int)
        shard_indices = np.searchsorted(self.first, examples, side="right") - 1
        found = []
        for shard, first in zip(shard_indices, examples - self.first[shard_indices], strict=True):
            values, ends = self.shards[shard].columns.get(name, ((), None))
            found.append(values if ends is None else values[ends[first] : ends[first + 1]])
        rows = np.full((len(found), max(map(len, found), default=0)), np.nan)
        for row, values in zip(rows, found, strict=True):
            row[: len(values)] = values
        return rows


def ragged(arrays):
    """Returns arrays as one, and the position at which each ends."""
    ends = np.cumsum([0, *map(len, arrays)], dtype="int64")
    return np.concatenate([*arrays, *([np.zeros(0)] if not arrays else [])]), ends


def finished_store(folder):
    """Lists the shards of a folder in its store.json, and returns the `IdStore`."""
    shards = {name: Shard.read(folder / name) for name in shards_in(folder)}
    write_json(folder / "store.json", {name: len(shard) for name, shard in shards.items()})
    return IdStore(shards.values())


def shards_in(folder):
    """Returns the names of the finished shards in a folder, in order."""
    return sorted(p.name for p in Path(folder).glob("shard-*") if p.suffix != ".unfinished")


def mapped(path):
    """Returns an array in a file, mapped into memory."""
    # An empty array cannot be mapped. Its file contains only a header of 128 bytes.
    return np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None)


def compact(ids):
    """Returns ids as two-byte integers if they fit."""
    return ids.astype("uint16") if not len(ids) or ids.max() < 2**16 else ids
