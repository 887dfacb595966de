"""Preparation as an Apache Beam pipeline, for corpora that are too large for one machine.

Cleaning and encoding run on any Beam runner (extra `beam`). All workers must have access to the
output folder. The vocabulary is learned on the machine that starts the pipeline. `prepare` writes
the same store, byte for byte, and either function can resume a preparation of the other.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.batches.dropout_encoding import with_dropout
from pipelines.batches.id_store import SIDES, Shard
from pipelines.preparation.prepare import prepare_by
from pipelines.text import cleaned_text
from pipelines.text.cleaned_text import lines_of, part_folder, parts_in, shard_of, write_part
from pipelines.text.cleaning import fingerprint, judge
from pipelines.text.cleaning_rules import Cleaning, RuleError
from pipelines.text.dropped_examples import DroppedExamples
from pipelines.tokenizers import load_tokenizer


def prepare_with_beam(
    source,
    folder,
    config=None,
    tokenizer=None,
    options=(),
    tag=None,
    languages=None,
    plugins=None,
    load_plugins=None,
):
    """Converts a corpus to an id store like `prepare`, with cleaning and encoding on Beam.

    Args:
        source: a source with `chunks`: uncompressed files or a TFDS data set.
        folder, config, tokenizer, tag, languages, plugins: see `prepare`.
        options: Beam options, such as ["--runner=FlinkRunner"]. If there are none, Beam's local
            runner is used.
        load_plugins: function without arguments that loads the plug-in files in a worker, or None.
    """
    if not hasattr(source, "chunks"):
        raise ValueError(
            "Beam needs a source that can be read in parts: text files or a TFDS data set. "
            f"Received: {type(source).__name__}"
        )
    options = PipelineOptions(list(options or ()))

    def clean_into(source, folder, cleaning):
        chunks = list(source.chunks(cleaned_text.PART))
        with failures_of_rules():
            clean_in_parts(chunks, folder, WorkerCleaning(cleaning, load_plugins), options)

    def encode_into(folder, tokenizer, encodings):
        encode_in_parts(folder, encodings, options, tokenizer.source.start)

    given = source, folder, config, tokenizer, tag, languages, plugins
    return prepare_by(clean_into, encode_into, *given)


@contextlib.contextmanager
def failures_of_rules():
    """Turns the failure of a plug-in file's rule in a worker into a `ValueError`.

    Runners report it as an error of their own that contains the worker's traceback.
    """
    try:
        yield
    except Exception as error:
        found = re.search(
            rf"{RuleError.__name__}: (.*?)(?: \[while running .*)?$", str(error), re.M
        )
        if found is None:
            raise
        raise ValueError(found[1]) from error


class WorkerCleaning(NamedTuple):
    """A `Cleaning` that loads plug-in files in the process of a worker.

    Args:
        cleaning: the `Cleaning`.
        load_plugins: see `prepare_with_beam`.
    """

    cleaning: Cleaning
    load_plugins: Callable | None

    def loaded(self):
        """Returns the `Cleaning`, after the plug-in files have been loaded."""
        if self.load_plugins is not None:
            self.load_plugins()
        return self.cleaning


def clean_in_parts(chunks, folder, cleaning, options):
    """Cleans every chunk and writes it as a part.

    Duplicates may be in different chunks, and only the first pair with a given fingerprint is kept.
    So a first pass over all chunks finds the positions of the pairs to keep.
    """
    with beam.Pipeline(options=options) as pipeline:
        indexed = pipeline | beam.Create(list(enumerate(chunks))) | beam.Reshuffle()
        first = (
            indexed
            | beam.FlatMapTuple(lambda index, chunk: fingerprints(index, chunk, cleaning.loaded()))
            | beam.CombinePerKey(min)
            | beam.Values()  # (chunk index, position)
        )
        (
            {"chunk": indexed, "first": first}
            | beam.CoGroupByKey()
            | beam.MapTuple(
                lambda index, group: write_chunk(
                    part_folder(folder, index),
                    group["chunk"][0],
                    set(group["first"]),
                    cleaning.loaded(),
                )
            )
        )


def fingerprints(index, chunk, cleaning):
    """Yields (fingerprint, (chunk index, position)) for each pair that passes the other rules."""
    rules, first = cleaning.rules(), 1 + index * cleaned_text.PART
    for position, pair in enumerate(chunk):
        judged = judge(pair, rules, cleaning.normalization, first + position)
        if not judged.rule:
            by_text = cleaning.config.duplicates
            yield fingerprint(judged.texts) if by_text else (index, position), (index, position)


def write_chunk(part, chunk, first, cleaning):
    """Cleans a chunk again and writes its part without duplicates.

    Args:
        part: the folder of the part.
        chunk: an iterable of pairs of bytes.
        first: the positions of all pairs to keep.
        cleaning: a `Cleaning`.
    """
    rules, counts, examples = cleaning.rules(), Counter(), DroppedExamples()

    def kept_pairs():
        for position, pair in enumerate(chunk):
            counts["read"] += 1
            judged = judge(pair, rules, cleaning.normalization)
            rule = judged.rule or (None if position in first else "duplicates")
            if rule:
                counts[rule] += 1
                examples.add(rule, judged.texts)
            else:
                counts["kept"] += 1
                counts.update(judged.changes)
                yield judged.texts

    write_part(kept_pairs(), part, counts, examples)


def encode_in_parts(folder, encodings, options, start):
    """Encodes every part that has no shard yet. Each source begins with the ids in `start`."""
    parts = parts_in(folder / "cleaned")
    missing = [part for part in parts if not shard_of(part, folder).exists()]
    with beam.Pipeline(options=options) as pipeline:
        (
            pipeline
            | beam.Create(missing)
            | beam.Reshuffle()
            | beam.Map(lambda part: encode_part(part, folder, encodings, start))
        )


def encode_part(part, folder, encodings, start):
    """Encodes one part of the cleaned text and writes its shard."""
    tokenizer = load_tokenizer(folder / "vocabulary")
    sides = [getattr(tokenizer, side).encode(lines_of(part / side)) for side in SIDES]
    shard = Shard.of(zip(*sides, strict=True))
    shard = with_dropout(shard, part, tokenizer, encodings)
    shard.with_start(start).write(shard_of(part, folder))
