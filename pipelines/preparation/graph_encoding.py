"""Encodes cleaned text with `tf.data`. Importing this module loads TensorFlow."""

import numpy as np
import tensorflow as tf

from pipelines.atomic_files import read_json
from pipelines.batches.dropout_encoding import with_dropout
from pipelines.batches.id_store import Shard
from pipelines.progress import Progress
from pipelines.text.cleaned_text import parts_in, shard_of
from pipelines.tokenizers import graphs_of

BATCH = 512  # lines tokenized together


def encode_parts(folder, tokenizer, encodings):
    """Encodes every part of the cleaned text that has no shard yet.

    Args:
        folder: the prepared folder, see `prepare.py`.
        tokenizer: a tokenizer, see `pipelines.tokenizers`.
        encodings: an `EncodingsConfig`.
    """
    graphs = graphs_of(tokenizer)
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
                    lambda *sides: tuple(
                        graph.tokenize_normalized(side)
                        for graph, side in zip(graphs, sides, strict=True)
                    ),
                    num_parallel_calls=tf.data.AUTOTUNE,
                )
                .prefetch(tf.data.AUTOTUNE)
            )
            ids, lengths = ([], []), ([], [])  # for source and target
            for sides in encoded:
                for side, ragged in enumerate(sides):
                    ids[side].append(ragged.flat_values.numpy())
                    lengths[side].append(ragged.row_lengths().numpy())
                progress.to(progress.done + len(lengths[0][-1]))
            flat = np.concatenate([np.zeros(0, "int32"), *ids[0], *ids[1]])
            lengths = (np.concatenate([np.zeros(0, "int64"), *side]) for side in lengths)
            shard = Shard.of_lengths(flat, *lengths)
            shard = with_dropout(shard, part, tokenizer, encodings)
            shard.with_start(tokenizer.source.start).write(shard_of(part, folder))
