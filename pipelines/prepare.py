"""From text to an id store: clean, learn the sub-words, encode, report.

Each step's result is written beside its place and then renamed, so that it is whole or absent:
when the work is interrupted, the same call goes on with the first step or shard that is missing.

    FOLDER/
      cleaned/            the text that is kept, in parts, until all of it is encoded
      preparation.json    what it is made from; other inputs or settings are refused
      vocabulary/         the tokenizer
      shard-000000/ …     the ids, a shard for each part
      store.json          which shards there are
      report.json, report.txt
"""

import dataclasses
import shutil
from pathlib import Path

import numpy as np

from pipelines.cleaned_text import clean_all, parts_in, sampled_lines, shard_of, total_counts
from pipelines.data_config import DataConfig
from pipelines.id_store import IdStore, Shard, contents_of, shards_in
from pipelines.origin import cleaned_from, known_origin, origin_of, refuse_other_things
from pipelines.progress import Progress
from pipelines.report import dropped_text, make_report, report_text
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.vocabulary import learn
from pipelines.whole import only_one, read_json, whole_folder, write_json

BATCH = 512  # lines tokenised together


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
