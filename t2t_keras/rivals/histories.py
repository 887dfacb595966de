"""What recurrent and convolutional decoders remember of each hypothesis.

A history holds vectors of the newest positions of every hypothesis, `[sentences, 1, kept · beams,
width]`. The hypothesis in beam b at position p writes slot `(p mod kept) · beams + b`. Nothing is
moved when a beam search continues a different hypothesis: `visible` says which slots belong to
each.
"""

from keras import ops


def empty_history(sentences, kept, beams, width, dtype):
    return ops.zeros((sentences, 1, kept * beams, width), dtype)


def beams_of(visible, position, beams):
    """Returns the beam in which each hypothesis was at a position: `[sentences or 1, beams]`.

    Args:
        visible: see `Transformer.decode_step`. None: hypotheses stay in their beams.
        position: index of a position; below 0, the result has no meaning.
        beams: hypotheses per sentence.
    """
    beam = ops.arange(beams, dtype="int32")
    if visible is None:
        return beam[None]
    slots = ops.maximum(position, 0) * beams + beam
    seen = ops.take(visible, slots, axis=2)  # [sentences, beams, beams]
    return ops.cast(ops.argmax(ops.cast(seen, "int32"), axis=2), "int32")


def read(history, position, beams, visible):
    """Returns the vectors that each hypothesis wrote at a position: `[rows, width]`.

    They are zero before the first position.

    Args:
        history: from `empty_history`.
        position: index of the position, one of the newest that the history keeps.
        beams, visible: see `beams_of`.
    """
    sentences, _, slots, _ = ops.shape(history)
    place = (position % (slots // beams)) * beams
    indices = place + beams_of(visible, position, beams)
    indices = ops.broadcast_to(indices, (sentences, beams))
    vectors = ops.take_along_axis(history[:, 0], indices[..., None], axis=1)
    vectors = ops.reshape(vectors, (-1, history.shape[-1]))
    return vectors * ops.cast(position >= 0, vectors.dtype)


def written(history, position, beams, vectors):
    """Returns the history with the vectors `[rows, width]` at a position."""
    sentences, _, slots, _ = ops.shape(history)
    place = (position % (slots // beams)) * beams + ops.arange(beams, dtype="int32")
    here = ops.arange(slots, dtype="int32")[:, None] // beams == place[0] // beams
    vectors = ops.reshape(vectors, (sentences, 1, beams, history.shape[-1]))
    repeated = ops.tile(vectors, (1, 1, slots // beams, 1))
    return ops.where(here, ops.cast(repeated, history.dtype), history)
