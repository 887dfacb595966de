"""From text to an id store: clean, learn the sub-words, encode, report.

Each step's result is written beside its place and then renamed, so that it is whole or absent:
when the work is interrupted, the same call goes on with the first step or shard that is missing.

    FOLDER/
      cleaned/            the text that is kept, in parts, until all of it is encoded
      preparation.json    what it is made from; other inputs or settings are refused
      vocabulary/         the tokenizer
      shard-00000/ …      the ids, a shard for each part
      store.json          which shards there are
      report.json, report.txt
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import itertools
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np

from pipelines.batch_plan import BatchConfig
from pipelines.cleaning import CleaningConfig, Seen, clean
from pipelines.id_store import IdStore, Shard, contents_of, shards_in, whole_folder
from pipelines.progress import Progress
from pipelines.report import dropped_text, make_report, report_text
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.vocabulary import VocabularyConfig, learn

FORMAT = 1  # of the folder; one of another format is refused
PART = 100_000  # pairs read for one part of the cleaned text, and for one shard
BATCH = 512  # lines tokenised together


@dataclasses.dataclass
class DataConfig:
    """All that is to be said about data: where it is, cleaning, sub-words, batches.

    Args:
        folder: what t2t-prepare made, to be trained on. "": the toy grammar.
        toy_pairs: how many sentences of the toy grammar.
        dev_source, dev_target: text files to evaluate on while training. "": none, or the
            toy grammar's unseen combinations.
        dev_pairs: how many of their lines, the first ones. 0: all.
    """

    folder: str = ""
    toy_pairs: int = 20_000
    dev_source: str = ""
    dev_target: str = ""
    dev_pairs: int = 0
    cleaning: CleaningConfig = dataclasses.field(default_factory=CleaningConfig)
    vocabulary: VocabularyConfig = dataclasses.field(default_factory=VocabularyConfig)
    batches: BatchConfig = dataclasses.field(default_factory=BatchConfig)

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        for name, least in (("toy_pairs", 1), ("dev_pairs", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(
                    f"`{name}` must be a whole number of at least {least}. "
                    f"Received: {name}={value!r}"
                )
        if bool(self.dev_source) != bool(self.dev_target):
            raise ValueError(
                "`dev_source` and `dev_target` go together. Received: "
                f"dev_source={self.dev_source!r}, dev_target={self.dev_target!r}"
            )
        self.cleaning.validate()
        self.vocabulary.validate()
        self.batches.validate()


def prepare(source, folder, config=None, tokenizer=None):
    """Turns a corpus into an id store with its vocabulary.

    Args:
        source: pairs of bytes with a `fingerprint`, see `sources.py`.
        folder: where to, or what was begun there before.
        config: a `DataConfig`.
        tokenizer: an existing one, whose normalization then counts. None: one is learned.

    Returns:
        The report, as a dictionary.
    """
    return prepare_by(clean_all, encode_all, source, folder, config, tokenizer)


def prepare_by(clean_into, encode_into, source, folder, config=None, tokenizer=None):
    """`prepare`, its two long steps done by the given functions."""
    config = DataConfig() if config is None else config
    config.validate()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        refuse_other_things(folder)
        origin = origin_of(source, config, tokenizer)
        begun = known_origin(folder, origin)
        if not begun or not is_finished(folder):
            finish(clean_into, encode_into, source, folder, config, tokenizer, origin)
        return renewed_report(folder, config)


def finish(clean_into, encode_into, source, folder, config, tokenizer, origin):
    """Does whatever is not done yet."""
    cleaned = folder / "cleaned"
    normalization = config.cleaning.normalization()
    if tokenizer is not None:
        normalization = tokenizer.normalization
    if read_json(cleaned / "origin.json", {}) != cleaned_from(origin):
        shutil.rmtree(cleaned, ignore_errors=True)  # nothing yet, or other text or rules
        with whole_folder(cleaned) as unfinished:
            clean_into(source, unfinished, config.cleaning, normalization)
            write_json(unfinished / "origin.json", cleaned_from(origin))
    counts = total_counts(cleaned)
    if not counts["kept"]:
        raise ValueError(
            f"No pair of {counts['read']:,} is left after cleaning "
            f"({dropped_text(counts)}): turn off the rule that dropped them"
        )
    if not (folder / "preparation.json").exists():
        shutil.rmtree(folder / "vocabulary", ignore_errors=True)
        if tokenizer is None:
            texts = sampled_lines(cleaned, counts["kept"], config.vocabulary)
            tokenizer = learn(texts, config.vocabulary, normalization, cleaned)
        with whole_folder(folder / "vocabulary") as unfinished:
            save_tokenizer(tokenizer, unfinished)
        write_json(folder / "preparation.json", origin)
    encode_into(folder, load_tokenizer(folder / "vocabulary"))
    store = IdStore([Shard.read(folder / name) for name in shards_in(folder)])
    sizes = dict(zip(shards_in(folder), map(len, store.shards), strict=True))
    write_json(folder / "store.json", sizes)
    write_report(folder, store, counts, config)
    shutil.rmtree(cleaned)


def is_finished(folder):
    """Whether everything is there; removes what an interrupted ending left behind."""
    if not (folder / "report.json").exists() or not (folder / "store.json").exists():
        return False
    if set(contents_of(folder)) - set(shards_in(folder)):
        return False
    for leftover in [folder / "cleaned", *folder.glob("*.unfinished")]:
        shutil.rmtree(leftover, ignore_errors=True)
    return True


def refuse_other_things(folder):
    ours = ("cleaned", "preparation", "vocabulary", "shard-", "store.", "report", ".lock")
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(ours))
    if others:
        raise ValueError(
            f"{folder} has other things in it ({', '.join(others[:3])}). Give the name of a new "
            "folder"
        )


def origin_of(source, config, tokenizer):
    """Everything on which the ids depend, under the name by which a change is reported."""
    cleaning = dataclasses.asdict(config.cleaning)
    if tokenizer is None:
        vocabulary = dataclasses.asdict(config.vocabulary)
    else:
        normalization = dataclasses.asdict(tokenizer.normalization)
        cleaning |= {"nfc": "the vocabulary's", "control_characters": "the vocabulary's"}
        vocabulary = {"contents": digest(tokenizer.contents()), **normalization}
    origin = {"format": FORMAT, **source.fingerprint(), "cleaning": cleaning}
    return json.loads(json.dumps({**origin, "vocabulary": vocabulary}))


def digest(contents):
    return hashlib.blake2b(contents, digest_size=16).hexdigest()


def cleaned_from(origin):
    """On what the cleaned text depends, which is all but how it is encoded."""
    normalization = origin["vocabulary"] if "contents" in origin["vocabulary"] else None
    return {**origin, "vocabulary": normalization}


def known_origin(folder, origin):
    """Whether this preparation was begun before; refuses to go on with something else."""
    known = read_json(folder / "preparation.json")
    if known is None:
        return False
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
    return True


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


def encode_all(folder, tokenizer):
    """Encodes the kept text on all cores; shards that are there are left as they are."""
    import tensorflow as tf  # here, so that settings can be read without it

    graph = tokenizer.in_graph()
    sizes = {
        part: read_json(part / "counts.json")["pairs"].get("kept", 0)
        for part in parts_in(folder / "cleaned")
    }
    with Progress("encoding", sum(sizes.values()), unit="pairs") as progress:
        missing = [part for part in sizes if not shard_of(part, folder).exists()]
        progress.begin_at(sum(sizes[part] for part in sizes if part not in missing))
        for part in missing:
            lines = (tf.data.TextLineDataset(str(part / side)) for side in ("source", "target"))
            encoded = (
                tf.data.Dataset.zip(*lines)
                .batch(BATCH)
                .map(
                    lambda *sides: tuple(graph.tokenize_normalized(side) for side in sides),
                    num_parallel_calls=tf.data.AUTOTUNE,
                )
                .prefetch(tf.data.AUTOTUNE)
            )
            ids, lengths = ([], []), ([], [])  # of source and target
            for sides in encoded:
                for side, ragged in enumerate(sides):
                    ids[side].append(ragged.flat_values.numpy())
                    lengths[side].append(ragged.row_lengths().numpy())
                progress.to(progress.done + len(lengths[0][-1]))
            flat = np.concatenate([np.zeros(0, "int32"), *ids[0], *ids[1]])
            lengths = (np.concatenate([np.zeros(0, "int64"), *side]) for side in lengths)
            Shard.of_lengths(flat, *lengths).write(shard_of(part, folder))


def write_report(folder, store, counts, config):
    """The last step, and the sign that all others are done."""
    report = make_report(store, load_tokenizer(folder / "vocabulary"), counts, config.batches)
    (folder / "report.txt").write_text(report_text(report), encoding="utf-8")
    write_json(folder / "report.json", report)


def renewed_report(folder, config):
    """The report, with the batches that today's settings give."""
    report = read_json(folder / "report.json")
    if report["batches"]["settings"] != dataclasses.asdict(config.batches):
        write_report(folder, IdStore.read(folder), report["counts"], config)
        report = read_json(folder / "report.json")
    return report


def write_json(path, contents):
    """Writes a file that is whole or absent."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(path)


def read_json(path, absent=None):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return absent
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged ({error}). Delete it and prepare the data again with the same "
            "command"
        ) from error


@contextlib.contextmanager
def only_one(folder):
    """Holds a lock on the folder, which the system lets go whatever ends the process."""
    with open(folder / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"Another process is preparing {folder} right now") from None
        yield
