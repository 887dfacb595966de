"""The memory of recurrent and convolutional decoders: earlier vectors of each hypothesis."""

from typing import NamedTuple

from keras import ops


class History(NamedTuple):
    """The vectors that a layer remembers: `[sentences, 1, kept · beams, width]`."""

    kept: int  # number of newest positions
    width: int

    def empty(self, sentences, beams, dtype):
        return ops.zeros((sentences, 1, self.kept * beams, self.width), dtype)


class Step:
    """A decoding step: one position of every hypothesis, and the histories of all layers.

    The hypothesis in beam b at position p writes to slot `(p mod kept) · beams + b`. Slots stay in
    place when a beam search reorders its hypotheses: `visible` marks each hypothesis's slots.

    Args:
        position: index of the position.
        beams: number of hypotheses per sentence.
        visible: see `Transformer.decode_step`. If None, each hypothesis stays in its beam.
        cache: the array of each layer with a `History`, in the order of the calls.
    """

    def __init__(self, position, beams, visible, cache):
        self.position, self.beams, self.visible, self.cache = position, beams, visible, cache
        self.written = []  # the arrays of the layers that were called, including this position

    def earlier(self, history, distance):
        """Returns the vectors of each hypothesis at an earlier position, of the layer that is next.

        They are `[sentences, beams, width]`, and zeros before the first position.
        """
        position, beam = self.position - distance, ops.arange(self.beams, dtype="int32")
        if self.visible is not None:  # [sentences, beams, beams] at this position
            slots = ops.maximum(position, 0) * self.beams + beam
            seen = ops.cast(ops.take(self.visible, slots, axis=2), "int32")
            beam = ops.cast(ops.argmax(seen, axis=2), "int32")
        array = self.cache[len(self.written)]
        rows = self.rows(history, array, position, beam)
        vectors = ops.take(ops.reshape(array, (-1, history.width)), rows, axis=0)
        vectors = vectors * ops.cast(position >= 0, vectors.dtype)
        return ops.reshape(vectors, (-1, self.beams, history.width))

    def remember(self, history, vectors):
        """Writes the vectors of this position to the history of the layer that is next."""
        array = self.cache[len(self.written)]
        vectors = ops.reshape(ops.cast(vectors, array.dtype), (-1, history.width))
        if history.kept > 1:
            beam = ops.arange(self.beams, dtype="int32")
            rows = self.rows(history, array, self.position, beam)
            slots = ops.reshape(array, (-1, history.width))
            vectors = ops.scatter_update(slots, rows[:, None], vectors)
        shape = (-1, 1, history.kept * self.beams, history.width)
        self.written.append(ops.reshape(vectors, shape))

    def rows(self, history, array, position, beam):
        """Returns the rows of the flattened array that the beams `beam` wrote at a position."""
        kept, sentences = history.kept, ops.arange(ops.shape(array)[0], dtype="int32")[:, None]
        return ops.reshape((sentences * kept + position % kept) * self.beams + beam, (-1,))
