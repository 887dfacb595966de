"""The same preparation as an Apache Beam pipeline, for corpora that outgrow a machine.

Cleaning and encoding run on whatever runner Beam is given (extra `beam`); the folder must be one
that all its workers see. The store is to the byte the one that `prepare` makes, and either goes on
with what the other began. The vocabulary is learned where this is started.
"""

from collections import Counter

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import cleaned_text
from pipelines.cleaned_text import lines_of, part_folder, parts_in, shard_of, write_part
from pipelines.cleaning import fingerprint, judge
from pipelines.id_store import Shard
from pipelines.prepare import prepare_by
from pipelines.tokenizers import load_tokenizer


def prepare_with_beam(source, folder, config=None, tokenizer=None, options=()):
    """`prepare`, its cleaning and encoding done by Beam.

    Args:
        source: as for `prepare`, with `chunks`: files that are not packed, or TFDS.
        folder, config, tokenizer: as for `prepare`.
        options: Beam's own, for example ["--runner=FlinkRunner"]; none: it runs here.
    """
    if not hasattr(source, "chunks"):
        raise ValueError(
            "Beam reads files or TFDS, which can be read in parts. "
            f"Received: {type(source).__name__}"
        )
    options = PipelineOptions(list(options or ()))

    def clean_into(source, folder, config, normalization):
        chunks = list(source.chunks(cleaned_text.PART))
        clean_in_parts(chunks, folder, config, normalization, options)

    def encode_into(folder, tokenizer):
        encode_in_parts(folder, options)

    return prepare_by(clean_into, encode_into, source, folder, config, tokenizer)


def clean_in_parts(chunks, folder, config, normalization, options):
    """Each chunk's kept pairs as a part of its own.

    Duplicates may lie in different chunks: of all pairs with one fingerprint, the first is kept.
    """
    with beam.Pipeline(options=options) as pipeline:
        numbered = pipeline | beam.Create(list(enumerate(chunks))) | beam.Reshuffle()
        first = (
            numbered
            | beam.FlatMapTuple(
                lambda number, chunk: fingerprints(number, chunk, config, normalization)
            )
            | beam.CombinePerKey(min)
            | beam.Values()  # (chunk, position)
        )
        (
            {"chunk": numbered, "first": first}
            | beam.CoGroupByKey()
            | beam.MapTuple(
                lambda number, found: write_chunk(
                    part_folder(folder, number),
                    found["chunk"][0],
                    set(found["first"]),
                    config,
                    normalization,
                )
            )
        )


def fingerprints(number, chunk, config, normalization):
    """(fingerprint, (chunk, position)) of each pair that the other rules keep."""
    ignored = Counter()
    for position, pair in enumerate(chunk):
        kept = judge(*pair, config, normalization, ignored)
        if kept:
            key = fingerprint(kept[0]) if config.duplicates else (number, position)
            yield key, (number, position)


def write_chunk(part, chunk, first, config, normalization):
    """Cleans a chunk again, now that it is known which of its pairs come first."""
    counts = Counter()

    def kept_pairs():
        for position, pair in enumerate(chunk):
            counts["read"] += 1
            kept = judge(*pair, config, normalization, counts)
            if kept and position in first:
                counts["kept"] += 1
                counts.update(kept[1])
                yield kept[0]
            elif kept:
                counts["duplicate"] += 1

    write_part(kept_pairs(), part, counts)


def encode_in_parts(folder, options):
    """A shard for each part; shards that are there are left as they are."""
    parts = parts_in(folder / "cleaned")
    missing = [part for part in parts if not shard_of(part, folder).exists()]
    with beam.Pipeline(options=options) as pipeline:
        (
            pipeline
            | beam.Create(missing)
            | beam.Reshuffle()
            | beam.Map(lambda part: encode_part(part, folder))
        )


def encode_part(part, folder):
    tokenizer = load_tokenizer(folder / "vocabulary")
    sides = [tokenizer.encode(lines_of(part / side)) for side in ("source", "target")]
    Shard.of(zip(*sides, strict=True)).write(shard_of(part, folder))
