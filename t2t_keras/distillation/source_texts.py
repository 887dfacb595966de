"""Writes the texts that a teacher translates: the sources of prepared data, and monolingual text.

The prepared pairs are decoded from their ids without dropout, so they are the cleaned text. The
lines have the order of the data.
"""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np

from pipelines.atomic_files import atomic_file, read_json, write_json
from pipelines.batches.id_store import IdStore
from pipelines.progress import Progress
from pipelines.special_ids import UNKNOWN
from pipelines.text.cleaning import Seen, fingerprint
from pipelines.text.opened_text import find_files
from pipelines.text.sources import lines_of
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.tags import tag_id

CHUNK = 10_000  # sentences that are decoded, or compared with earlier ones, together


def write_real(folder, data, longest=0):
    """Writes `real.txt`, `real_target.txt` and the counts, `real.json`, last.

    Texts of more than `longest` characters are left out, if it is not 0. Returns a `Counter` of the
    lines, "written", and of those that were left out: "empty" and "too_long". "unknown" counts the
    pairs with pieces that are not in the vocabulary, which are written as ⁇.
    """
    folder, counts = Path(folder), Counter()
    folder.mkdir(parents=True, exist_ok=True)
    with (
        atomic_file(folder / "real.txt") as sources,
        atomic_file(folder / "real_target.txt") as targets,
        Progress("decoding", unit="pairs") as progress,
    ):
        progress.to(0)
        for pairs in chunks(real_pairs(data, counts, longest)):
            for side, file in enumerate((sources, targets)):
                write_lines(file, [pair[side] for pair in pairs])
            counts["written"] += len(pairs)
            progress.to(counts["written"])
    write_json(folder / "real.json", dict(counts))
    return counts


def write_mono(folder, mono, normalization, longest=0, known=None):
    """Writes `mono.txt`, without the lines of the file `known`, and the counts, `mono.json`, last.

    Returns a `Counter` like `write_real`. Lines may also be left out as "duplicates" or
    "invalid_utf8".
    """
    folder, counts, seen = Path(folder), Counter(), Seen()
    folder.mkdir(parents=True, exist_ok=True)
    if known is not None:
        with open(known, encoding="utf-8", newline="\n") as lines:
            for texts in chunks(line.rstrip("\n") for line in lines):
                seen.first_time(fingerprints(texts))
    with atomic_file(folder / "mono.txt") as file, Progress("reading", unit="lines") as progress:
        progress.to(0)
        for lines in chunks(mono_lines(mono, normalization, counts, longest)):
            new = seen.first_time(fingerprints(lines))
            write_lines(file, itertools.compress(lines, new))
            counts.update(written=int(new.sum()), duplicates=int((~new).sum()))
            progress.to(counts["written"])
    write_json(folder / "mono.json", dict(counts))
    return counts


def real_pairs(data, counts, longest):
    """Yields the texts of the prepared pairs, (source, target), and updates the counts."""
    tokenizer = load_tokenizer(Path(data) / "vocabulary")
    tag = (read_json(Path(data) / "preparation.json") or {}).get("tag")
    start = [] if tag is None else [tag_id(tokenizer, tag)]
    for shard in IdStore.read(data).shards:
        for first in range(0, len(shard), CHUNK):
            sides = []
            for row, side in enumerate(("source", "target")):
                ends = shard.ends[row, first : first + CHUNK + 1]
                ids = [shard.ids[begin:end] for begin, end in itertools.pairwise(ends)]
                if side == "source" and start:
                    ids = [each[1:] if list(each[:1]) == start else each for each in ids]
                sides.append((ids, getattr(tokenizer, side).decode(ids)))
            (source_ids, sources), (target_ids, targets) = sides
            for *ids, source, target in zip(source_ids, target_ids, sources, targets, strict=True):
                pair = " ".join(source.split()), " ".join(target.split())
                if reason := left_out(pair, longest):
                    counts[reason] += 1
                    continue
                if any((each == UNKNOWN).any() for each in ids):
                    counts["unknown"] += 1
                yield pair


def mono_lines(mono, normalization, counts, longest):
    """Yields the normalized lines of monolingual text, and updates the counts."""
    for line in lines_of(find_files("mono", mono)):
        try:
            text = normalization(line.decode("utf-8"))
        except UnicodeDecodeError:
            counts["invalid_utf8"] += 1
            continue
        if reason := left_out([text], longest):
            counts[reason] += 1
        else:
            yield text


def left_out(texts, longest):
    """Returns why texts are left out, or None."""
    if not all(texts):
        return "empty"
    return "too_long" if longest and max(map(len, texts)) > longest else None


def chunks(items):
    """Yields lists of up to `CHUNK` items."""
    items = iter(items)
    while chunk := list(itertools.islice(items, CHUNK)):
        yield chunk


def fingerprints(texts):
    return np.array([fingerprint([text]) for text in texts], "uint64")


def write_lines(file, lines):
    file.writelines(f"{line}\n".encode() for line in lines)
