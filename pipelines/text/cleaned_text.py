"""The cleaned text, stored as plain lines in parts until all of it is encoded.

    cleaned/part-000000/source, target, counts.json

Each part holds the pairs kept out of `PART` pairs read. It becomes one shard of the id store.
"""

import itertools
from collections import Counter

import numpy as np

from pipelines.atomic_files import atomic_folder, file_digest, read_json, write_json
from pipelines.progress import Progress
from pipelines.text.cleaning import Seen, clean
from pipelines.text.dropped_examples import DroppedExamples

PART = 100_000  # pairs read per part


def clean_all(source, folder, cleaning):
    """Cleans a source and writes the kept pairs in parts.

    Args:
        source: an iterable of pairs of bytes, see `sources.py`.
        folder: the folder for the parts.
        cleaning: a `Cleaning`.
    """
    seen, counts = Seen(), Counter()
    with Progress("reading and cleaning", unit="pairs") as progress:

        def cleaned(pairs, part_counts, examples):
            first = counts["read"] + 1
            for pair in clean(pairs, cleaning, part_counts, examples, seen, first):
                progress.to(counts["read"] + part_counts["read"])
                yield pair

        for index, pairs in enumerate(in_parts(source)):
            part_counts, examples = Counter(), DroppedExamples()
            kept = cleaned(pairs, part_counts, examples)
            write_part(kept, part_folder(folder, index), part_counts, examples)
            counts.update(part_counts)
        progress.to(counts["read"])


def in_parts(source):
    """Yields nonempty iterators over up to `PART` pairs each."""
    pairs = iter(source)
    for first in pairs:
        yield itertools.chain([first], itertools.islice(pairs, PART - 1))


def write_part(pairs, folder, counts, examples=None):
    """Writes cleaned pairs, their counts, and examples of the dropped pairs.

    Args:
        pairs: an iterable of (source, target) strings.
        folder: the folder of the part.
        counts: the counts of the cleaning. They are complete when `pairs` is exhausted.
        examples: a `DroppedExamples`, complete at the same time, or None.
    """
    words, characters = Counter(), Counter()
    with atomic_folder(folder) as unfinished:
        with (
            open(unfinished / "source", "w", encoding="utf-8", newline="\n") as source_file,
            open(unfinished / "target", "w", encoding="utf-8", newline="\n") as target_file,
        ):
            files = {"source": source_file, "target": target_file}
            for pair in pairs:
                for (side, file), text in zip(files.items(), pair, strict=True):
                    file.write(text + "\n")
                    words[side] += text.count(" ") + 1 if text else 0
                    characters[side] += len(text)
        all_counts = {"pairs": counts, "words": words, "characters": characters}
        if examples is not None:
            all_counts["examples"] = examples.contents()
        digests = {side: file_digest(unfinished / side) for side in files}
        write_json(unfinished / "counts.json", all_counts | {"digests": digests})


def total_counts(cleaned):
    """Returns the summed counts of all parts. Rejects damaged parts."""
    total = {"pairs": Counter(), "words": Counter(), "characters": Counter()}
    for part in parts_in(cleaned):
        part_counts = intact_counts(part)
        for name, sums in total.items():
            sums.update(part_counts[name])
    words, characters = dict(total["words"]), dict(total["characters"])
    return {"read": 0, "kept": 0, **total["pairs"], "words": words, "characters": characters}


def all_examples(cleaned):
    """Returns {rule name: list of [source, target]}: examples of the pairs dropped in all parts."""
    examples = DroppedExamples()
    for part in parts_in(cleaned):
        examples.update(intact_counts(part).get("examples", {}))
    return examples.pairs()


def intact_counts(part):
    """Returns the contents of a part's counts.json. Raises `ValueError` if the part is damaged."""
    remedy = f"Delete {part.parent} and run the same command again"
    counts = read_json(part / "counts.json", {}, remedy)
    for side, digest in counts.get("digests", {}).items():
        if file_digest(part / side) != digest:
            raise ValueError(f"{part / side} does not match its digest. {remedy}")
    if not {"pairs", "words", "characters"} <= counts.keys():
        raise ValueError(f"{part / 'counts.json'} is missing or has no counts. {remedy}")
    return counts


def parts_in(cleaned):
    """Returns the folders of all finished parts, in order."""
    return sorted(path for path in cleaned.glob("part-*") if path.suffix != ".unfinished")


def part_folder(cleaned, index):
    return cleaned / f"part-{index:06}"


def index_of(part):
    """Returns the index of a part, counted from 0."""
    return int(part.name.removeprefix("part-"))


def shard_of(part, folder):
    """Returns the path of the shard for a part."""
    return folder / part.name.replace("part", "shard")


def sampled_lines(cleaned, pairs, config):
    """Yields the lines of a random sample of the pairs: all sources, then all targets.

    Args:
        cleaned: the folder of the parts.
        pairs: number of pairs in all parts.
        config: a `VocabularyConfig` with the sample's size and seed.
    """
    chosen = np.ones(pairs, bool)
    if pairs > config.sample_pairs:
        random = np.random.default_rng(config.seed)
        chosen[:] = False
        chosen[random.choice(pairs, config.sample_pairs, replace=False)] = True
    for side in ("source", "target"):
        yield from itertools.compress(lines_of_side(cleaned, side), chosen)


def lines_of_side(cleaned, side):
    """Yields the lines of one side of all parts."""
    for part in parts_in(cleaned):
        yield from lines_of(part / side)


def lines_of(path):
    """Yields the lines of a text file without line feeds. Only "\\n" ends a line."""
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")
