"""The text that cleaning keeps, as plain lines in parts, until all of it is encoded.

    cleaned/part-000000/source, target, counts.json

A part comes from so many pairs read, whoever reads them, and becomes a shard.
"""

import itertools
from collections import Counter

import numpy as np

from pipelines.cleaning import Seen, clean
from pipelines.progress import Progress
from pipelines.whole import read_json, whole_folder, write_json

PART = 100_000  # pairs read for one part, and for one shard


def clean_all(source, folder, config, normalization):
    """The kept pairs in parts, each from as many pairs read."""
    seen, counts = Seen(), Counter()
    with Progress("reading and cleaning", unit="pairs") as progress:

        def watched(pairs, of_part):
            for pair in clean(pairs, config, of_part, seen, normalization):
                progress.to(counts["read"] + of_part["read"])
                yield pair

        for number, pairs in enumerate(in_parts(source)):
            of_part = Counter()
            write_part(watched(pairs, of_part), part_folder(folder, number), of_part)
            counts.update(of_part)
        progress.to(counts["read"])


def in_parts(source):
    """The pairs in runs of `PART`, none of them empty."""
    pairs = iter(source)
    for first in pairs:
        yield itertools.chain([first], itertools.islice(pairs, PART - 1))


def write_part(pairs, folder, counts):
    """Cleaned pairs as the files `source` and `target`, with their counts beside them."""
    words, characters = Counter(), Counter()
    with (
        whole_folder(folder) as unfinished,
        open(unfinished / "source", "w", encoding="utf-8", newline="\n") as source_file,
        open(unfinished / "target", "w", encoding="utf-8", newline="\n") as target_file,
    ):
        files = {"source": source_file, "target": target_file}
        for pair in pairs:
            for (side, file), text in zip(files.items(), pair, strict=True):
                file.write(text + "\n")
                words[side] += text.count(" ") + 1 if text else 0
                characters[side] += len(text)
        counted = {"pairs": counts, "words": words, "characters": characters}
        write_json(unfinished / "counts.json", counted)


def total_counts(cleaned):
    """What was counted, all parts together."""
    total = {"pairs": Counter(), "words": Counter(), "characters": Counter()}
    for part in parts_in(cleaned):
        for name, counts in read_json(part / "counts.json").items():
            total[name].update(counts)
    words, characters = dict(total["words"]), dict(total["characters"])
    return {"read": 0, "kept": 0, **total["pairs"], "words": words, "characters": characters}


def parts_in(cleaned):
    return sorted(path for path in cleaned.glob("part-*") if path.suffix != ".unfinished")


def part_folder(cleaned, number):
    return cleaned / f"part-{number:06}"


def shard_of(part, folder):
    """The shard that a part of the cleaned text becomes."""
    return folder / part.name.replace("part", "shard")


def sampled_lines(cleaned, pairs, config):
    """Both sides of at most `sample_pairs` pairs, the same ones for the same seed."""
    chosen = np.ones(pairs, bool)
    if pairs > config.sample_pairs:
        random = np.random.default_rng(config.seed)
        chosen[:] = False
        chosen[random.choice(pairs, config.sample_pairs, replace=False)] = True
    for side in ("source", "target"):
        lines = itertools.chain.from_iterable(lines_of(part / side) for part in parts_in(cleaned))
        yield from itertools.compress(lines, chosen)


def lines_of(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")
