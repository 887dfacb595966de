"""The same preparation as an Apache Beam pipeline, for corpora that outgrow a machine.

Cleaning and encoding run on whatever runner Beam is given (extra `beam`); the folder must be one
that all its workers see. The store holds the same pairs in the same order with the same ids as
`prepare` makes it; only the shards are cut elsewhere. The vocabulary is learned where this is
started, from the same sample.
"""

from collections import Counter

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.cleaning import fingerprint, judge
from pipelines.id_store import Shard
from pipelines.prepare import (
    load_tokenizer,
    open_lines,
    prepare_by,
    shard_folder,
    write_part,
)

CHUNK = 50_000  # pairs to a part of the work, and to a shard


def prepare_with_beam(source, folder, config=None, tokenizer=None, options=(), chunk=CHUNK):
    """`prepare`, its cleaning and encoding done by Beam.

    Args:
        source: as for `prepare`, with `chunks`: files that are not packed, or TFDS.
        folder, config, tokenizer: as for `prepare`.
        options: Beam's own, for example ["--runner=FlinkRunner"]. None: it runs here.
        chunk: pairs to a part of the work.
    """
    if not hasattr(source, "chunks"):
        raise ValueError(
            "Beam reads files or TFDS, which can be read in parts. "
            f"Received: {type(source).__name__}"
        )
    options = PipelineOptions(list(options))

    def write_cleaned(source, folder, config):
        clean_in_parts(list(source.chunks(chunk)), folder, config, options)

    def write_shards(folder, pairs, tokenizer):
        encode_in_parts(folder, options)

    return prepare_by(write_cleaned, write_shards, source, folder, config, tokenizer)


def clean_in_parts(chunks, folder, config, options):
    """Each chunk's kept pairs as a part of its own.

    Duplicates may lie in different chunks: of all pairs with one fingerprint, the first is kept.
    """
    cleaning = config.cleaning
    with beam.Pipeline(options=options) as pipeline:
        numbered = pipeline | beam.Create(list(enumerate(chunks))) | beam.Reshuffle()
        first = (
            numbered
            | beam.FlatMapTuple(lambda number, chunk: fingerprints(number, chunk, cleaning))
            | beam.CombinePerKey(min)
            | beam.Values()  # (chunk, position)
        )
        (
            {"chunk": numbered, "first": first}
            | beam.CoGroupByKey()
            | beam.MapTuple(
                lambda number, found: write_chunk(
                    number, found["chunk"][0], set(found["first"]), folder, cleaning
                )
            )
        )


def fingerprints(number, chunk, cleaning):
    """(fingerprint, (chunk, position)) of each pair that the other rules keep."""
    normalization, ignored = cleaning.normalization(), Counter()
    for position, pair in enumerate(chunk):
        kept = judge(*pair, cleaning, normalization, ignored)
        if kept:
            key = fingerprint(kept) if cleaning.duplicates else (number, position)
            yield key, (number, position)


def write_chunk(number, chunk, first, folder, cleaning):
    """Cleans a chunk again, now that it is known which of its pairs come first."""
    counts, normalization = Counter(), cleaning.normalization()

    def kept_pairs():
        for position, pair in enumerate(chunk):
            counts["read"] += 1
            kept = judge(*pair, cleaning, normalization, counts)
            if kept and position in first:
                counts["kept"] += 1
                yield kept
            elif kept:
                counts["duplicate"] += 1

    write_part(kept_pairs(), folder / f"part-{number:05}", counts)


def encode_in_parts(folder, options):
    """A shard for each part that kept a pair; shards that are there are left as they are."""
    numbers = [int(part.name[-5:]) for part in sorted((folder / "cleaned").glob("part-*"))]
    missing = [number for number in numbers if not shard_folder(folder, number).exists()]
    with beam.Pipeline(options=options) as pipeline:
        (
            pipeline
            | beam.Create(missing)
            | beam.Reshuffle()
            | beam.Map(lambda number: encode_part(number, folder))
        )


def encode_part(number, folder):
    tokenizer = load_tokenizer(folder / "vocabulary")
    part = folder / "cleaned" / f"part-{number:05}"
    sides = [tokenizer.encode(open_lines(part / side)) for side in ("source", "target")]
    Shard.of(zip(*sides, strict=True)).write(shard_folder(folder, number))
