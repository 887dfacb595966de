"""From text to an id store: clean, learn the sub-words, encode, report.

Each step's result is written beside its place and then renamed, so that it is whole or absent:
when the work is interrupted, the same call goes on with the first step or shard that is missing.

    FOLDER/
      preparation.json    what it is made from; other inputs or settings are refused
      vocabulary/         the tokenizer
      shard-00000/ …      the ids
      report.json, report.txt
      cleaned/            the text that is kept, until all of it is encoded
"""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np

from pipelines.batch_plan import BatchConfig
from pipelines.cleaning import CleaningConfig, clean
from pipelines.id_store import IdStore, Shard
from pipelines.progress import Progress
from pipelines.report import dropped_text, make_report, report_text
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.vocabulary import VocabularyConfig, learn

BATCH = 512  # lines tokenised together


@dataclasses.dataclass
class DataConfig:
    """All that is to be said about data: cleaning, sub-words, batches."""

    cleaning: CleaningConfig = dataclasses.field(default_factory=CleaningConfig)
    vocabulary: VocabularyConfig = dataclasses.field(default_factory=VocabularyConfig)
    batches: BatchConfig = dataclasses.field(default_factory=BatchConfig)

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        self.cleaning.validate()
        self.vocabulary.validate()
        self.batches.validate()


def prepare(source, folder, config=None, tokenizer=None):
    """Turns a corpus into an id store with its vocabulary.

    Args:
        source: pairs of bytes with a `fingerprint`, see `sources.py`.
        folder: where to, or what was begun there before.
        config: a `DataConfig`.
        tokenizer: an existing one. None: a vocabulary is learned.

    Returns:
        The report, as a dictionary.
    """
    return prepare_by(write_cleaned, write_shards, source, folder, config, tokenizer)


def prepare_by(write_cleaned, write_shards, source, folder, config=None, tokenizer=None):
    """`prepare`, whose two long steps are done by whatever does them."""
    config = DataConfig() if config is None else config
    config.validate()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        check_origin(folder, origin_of(source, config, tokenizer))
        if not (folder / "report.json").exists():
            if not (folder / "cleaned").exists():
                write_whole(folder / "cleaned", lambda part: write_cleaned(source, part, config))
            counts = total_counts(folder / "cleaned")
            if not counts["kept"]:
                shutil.rmtree(folder / "cleaned")
                raise ValueError(
                    f"No pair of {counts['read']:,} is left after cleaning "
                    f"({dropped_text(counts)}): turn off the rule that dropped them"
                )
            if not (folder / "vocabulary").exists():
                made = tokenizer or learned(folder / "cleaned", counts["kept"], config)
                write_whole(folder / "vocabulary", lambda part: save_tokenizer(made, part))
            write_shards(folder, counts["kept"], load_tokenizer(folder / "vocabulary"))
            write_report(folder, counts, config)
            shutil.rmtree(folder / "cleaned")
        return renewed_report(folder, config)


def origin_of(source, config, tokenizer):
    """Everything on which the ids depend, under the name by which a change is reported."""
    origin = dict(source.fingerprint())
    origin["cleaning"] = dataclasses.asdict(config.cleaning)
    if tokenizer is None:
        origin["vocabulary"] = dataclasses.asdict(config.vocabulary)
    else:
        origin["vocabulary"] = [tokenizer.kind, tokenizer.size]
    return json.loads(json.dumps(origin))


def check_origin(folder, origin):
    """Notes what a preparation is made from, or refuses to go on with something else."""
    path = folder / "preparation.json"
    if not path.exists():
        if others := [found.name for found in folder.iterdir() if found.name != ".lock"]:
            raise ValueError(
                f"{folder} has other things in it ({', '.join(sorted(others)[:3])}). Give the "
                "name of a new folder"
            )
        written = path.with_suffix(".unfinished")
        written.write_text(json.dumps(origin, indent=2) + "\n")
        written.rename(path)
        return
    known = json.loads(path.read_text())
    changed = sorted(
        name for name in known.keys() | origin.keys() if known.get(name) != origin.get(name)
    )
    if changed:
        details = []
        for name in changed:
            old, new = known.get(name), origin.get(name)
            if isinstance(old, dict) and isinstance(new, dict):
                details += [
                    f"{name}.{field} (then {old.get(field)!r}, now {new.get(field)!r})"
                    for field in sorted(old.keys() | new.keys())
                    if old.get(field) != new.get(field)
                ]
            else:
                details.append(name)
        raise ValueError(
            f"{folder} was prepared from something else; changed since: {', '.join(details)}. "
            "Give another output folder, or delete this one to prepare it anew"
        )


def write_cleaned(source, folder, config):
    """The kept pairs as two files of lines, and what was counted."""
    counts = Counter()
    with Progress("reading and cleaning", unit="pairs") as progress:

        def watched():
            for pair in clean(source, config.cleaning, counts):
                progress.to(counts["read"])
                yield pair

        write_part(watched(), folder / "part-00000", counts)
        progress.to(counts["read"])


def write_part(pairs, folder, counts):
    """Cleaned pairs as the files `source` and `target`, with their counts beside them."""
    folder.mkdir()
    words, characters = Counter(), Counter()
    with (
        open(folder / "source", "w", encoding="utf-8", newline="\n") as source_file,
        open(folder / "target", "w", encoding="utf-8", newline="\n") as target_file,
    ):
        files = {"source": source_file, "target": target_file}
        for pair in pairs:
            for (side, file), text in zip(files.items(), pair, strict=True):
                file.write(text + "\n")
                words[side] += text.count(" ") + 1 if text else 0
                characters[side] += len(text)
    counts = {"pairs": counts, "words": words, "characters": characters}
    (folder / "counts.json").write_text(json.dumps(counts))


def total_counts(cleaned):
    """What was counted, all parts together."""
    total = {"pairs": Counter(), "words": Counter(), "characters": Counter()}
    for path in cleaned.glob("part-*/counts.json"):
        for name, counts in json.loads(path.read_text()).items():
            total[name].update(counts)
    return {
        "read": 0,
        "kept": 0,
        **total["pairs"],
        "words": total["words"],
        "characters": total["characters"],
    }


def learned(cleaned, pairs, config):
    """The tokenizer that is learned from at most `sample_pairs` of the kept pairs."""
    return learn(
        sampled_lines(cleaned, pairs, config.vocabulary),
        config.vocabulary,
        config.cleaning.normalization(),
    )


def sampled_lines(cleaned, pairs, config):
    """Both sides of at most `sample_pairs` pairs, the same ones for the same seed."""
    chosen = np.ones(pairs, bool)
    if pairs > config.sample_pairs:
        random = np.random.default_rng(config.seed)
        chosen[:] = False
        chosen[random.choice(pairs, config.sample_pairs, replace=False)] = True
    for side in ("source", "target"):
        lines = itertools.chain.from_iterable(
            open_lines(part / side) for part in sorted(cleaned.glob("part-*"))
        )
        yield from itertools.compress(lines, chosen)


def open_lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def write_shards(folder, pairs, tokenizer):
    """Encodes the kept text on all cores; shards that are there are left as they are."""
    import tensorflow as tf  # here, so that settings can be read without it

    # Some dozen shards, each of them soon done and none so small that reading it costs.
    size = BATCH * max(1, min(200, pairs // 16 // BATCH))
    count = -(-pairs // size)
    missing = [n for n in range(count) if not shard_folder(folder, n).exists()]
    graph = tokenizer.in_graph()
    lines = tf.data.Dataset.zip(
        *(
            tf.data.TextLineDataset(str(folder / "cleaned" / "part-00000" / side))
            for side in ("source", "target")
        )
    )
    with Progress("encoding", pairs, unit="pairs") as progress:
        progress.begin_at((count - len(missing)) * size)
        for first, end in runs(missing):
            encoded = (
                lines.skip(first * size)
                .take((end - first) * size)
                .batch(BATCH)
                .map(
                    lambda *sides: tuple(graph.tokenize_normalized(side) for side in sides),
                    num_parallel_calls=tf.data.AUTOTUNE,
                )
                .prefetch(tf.data.AUTOTUNE)
            )
            batches = iter(encoded)
            for number in range(first, end):
                rows = min(size, pairs - number * size)
                sides = ([], []), ([], [])  # ids and lengths, of source and target
                for _ in range(-(-rows // BATCH)):
                    for (ids, lengths), ragged in zip(sides, next(batches), strict=True):
                        ids.append(ragged.flat_values.numpy())
                        lengths.append(ragged.row_lengths().numpy())
                    progress.to(progress.done + len(lengths[-1]))
                arrays = []
                for ids, lengths in sides:
                    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
                    arrays += [np.concatenate(ids), ends.astype("int64")]
                Shard(*arrays).write(shard_folder(folder, number))


def shard_folder(folder, number):
    return folder / f"shard-{number:05}"


def runs(numbers):
    """
    >>> list(runs([0, 1, 2, 5, 7, 8]))
    [(0, 3), (5, 6), (7, 9)]
    """
    numbers = list(numbers)
    while numbers:
        length = 1
        while length < len(numbers) and numbers[length] == numbers[0] + length:
            length += 1
        yield numbers[0], numbers[0] + length
        numbers = numbers[length:]


def write_report(folder, counts, config):
    """The last step, and the sign that all others are done."""
    store = IdStore.read(folder)
    tokenizer = load_tokenizer(folder / "vocabulary")
    report = make_report(store, tokenizer, counts, config.batches)
    written = folder / "report.unfinished"
    written.write_text(json.dumps(report, indent=2) + "\n")
    (folder / "report.txt").write_text(report_text(report), encoding="utf-8")
    written.rename(folder / "report.json")


def renewed_report(folder, config):
    """The report, with the batches that today's settings give."""
    report = json.loads((folder / "report.json").read_text())
    if report["batches"]["settings"] != dataclasses.asdict(config.batches):
        counts = report["counts"]
        write_report(folder, counts, config)
        report = json.loads((folder / "report.json").read_text())
    return report


def write_whole(folder, write):
    """Lets `write` fill a folder that gets its name only when it is whole."""
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    write(unfinished)
    unfinished.rename(folder)


@contextlib.contextmanager
def only_one(folder):
    """Holds a lock on the folder, which the system lets go whatever ends the process."""
    with open(folder / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"Another process is preparing {folder} right now") from None
        yield
