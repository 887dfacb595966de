"""The memory of recurrent and convolutional decoders: earlier vectors of each hypothesis."""

from typing import NamedTuple

from keras import ops


class History(NamedTuple):
    """Vectors of the newest positions of every hypothesis: `[sentences, 1, kept · beams, width]`.

    The hypothesis in beam b at position p writes to slot `(p mod kept) · beams + b`. Slots stay in
    place when a beam search reorders its hypotheses: `visible` marks each hypothesis's slots.

    Args:
        kept: number of positions.
        width: width of the vectors.
    """

    kept: int
    width: int

    def empty(self, sentences, beams, dtype):
        return ops.zeros((sentences, 1, self.kept * beams, self.width), dtype)

    def read(self, array, position, beams, visible):
        """Returns the vectors that each hypothesis wrote at a position: `[rows, width]`.

        Vectors before the first position are zero.

        Args:
            array: from `empty` or `written`.
            position: index of one of the newest `kept` positions.
            beams: number of hypotheses per sentence.
            visible: see `Transformer.decode_step`. If None, each hypothesis stays in its beam.
        """
        beam = ops.arange(beams, dtype="int32")
        if visible is not None:  # [sentences, beams, beams] at this position
            slots = ops.maximum(position, 0) * beams + beam
            seen = ops.cast(ops.take(visible, slots, axis=2), "int32")
            beam = ops.cast(ops.argmax(seen, axis=2), "int32")
        rows = self.rows(array, position, beams, beam)
        vectors = ops.take(ops.reshape(array, (-1, self.width)), rows, axis=0)
        return vectors * ops.cast(position >= 0, vectors.dtype)

    def written(self, array, position, beams, vectors):
        """Returns the array after writing the vectors `[rows, width]` at a position."""
        vectors = ops.cast(vectors, array.dtype)
        if self.kept > 1:
            rows = self.rows(array, position, beams, ops.arange(beams, dtype="int32"))
            slots = ops.reshape(array, (-1, self.width))
            vectors = ops.scatter_update(slots, rows[:, None], vectors)
        return ops.reshape(vectors, (-1, 1, self.kept * beams, self.width))

    def rows(self, array, position, beams, beam):
        """Returns the rows of the flattened array that the beams `beam` wrote at a position."""
        sentences = ops.arange(ops.shape(array)[0], dtype="int32")[:, None]
        return ops.reshape((sentences * self.kept + position % self.kept) * beams + beam, (-1,))
