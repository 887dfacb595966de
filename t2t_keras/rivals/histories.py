"""The memory of recurrent and convolutional decoders: earlier vectors of each hypothesis."""

from typing import NamedTuple

from keras import ops


class History(NamedTuple):
    """Vectors of the newest positions of every hypothesis: `[sentences, 1, kept · beams, width]`.

    The hypothesis in beam b at position p writes slot `(p mod kept) · beams + b`. Nothing is moved
    when a beam search continues a different hypothesis: `visible` marks the slots of each one.

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

        They are zero before the first position.

        Args:
            array: from `empty` or `written`.
            position: index of the position, one of the newest `kept`.
            beams: hypotheses per sentence.
            visible: see `Transformer.decode_step`. None: hypotheses stay in their beams.
        """
        rows = self.rows(array, position, beams, beams_at(position, beams, visible))
        vectors = ops.take(ops.reshape(array, (-1, self.width)), rows, axis=0)
        return vectors * ops.cast(position >= 0, vectors.dtype)

    def written(self, array, position, beams, vectors):
        """Returns the array after writing the vectors `[rows, width]` at a position."""
        vectors = ops.cast(vectors, array.dtype)
        if self.kept > 1:
            rows = self.rows(array, position, beams, ops.arange(beams, dtype="int32")[None])
            slots = ops.reshape(array, (-1, self.width))
            vectors = ops.scatter_update(slots, rows[:, None], vectors)
        return ops.reshape(vectors, (-1, 1, self.kept * beams, self.width))

    def rows(self, array, position, beams, beam):
        """Returns the slots of beams `[sentences or 1, beams]` among all sentences: `[rows]`."""
        sentences = ops.arange(ops.shape(array)[0], dtype="int32")[:, None]
        return ops.reshape((sentences * self.kept + position % self.kept) * beams + beam, (-1,))


def beams_at(position, beams, visible):
    """Returns the beam in which each hypothesis was at a position: `[sentences or 1, beams]`."""
    beam = ops.arange(beams, dtype="int32")
    if visible is None:
        return beam[None]
    slots = ops.maximum(position, 0) * beams + beam
    seen = ops.take(visible, slots, axis=2)  # [sentences, beams, beams]
    return ops.cast(ops.argmax(ops.cast(seen, "int32"), axis=2), "int32")


def layer_steps(layers, position, cache, beams, visible):
    """Returns a function that applies a decoder layer to one position, and its new caches.

    Args:
        layers: the decoder's layers, each with `width`, `units` and a `decode_step` of rows.
        position, beams, visible: see `History.read`.
        cache: the cache of each layer.

    Returns:
        A function of (index of a layer, vectors `[sentences, beams, width]`) that returns
        `[sentences, beams, units]`, and a list to which it appends the new cache of the layer.
    """
    new_caches = []

    def step(i, x):
        layer = layers[i]
        rows = ops.reshape(x, (-1, layer.width))
        y, new = layer.decode_step(rows, position, cache[i], beams, visible)
        new_caches.append(new)
        return ops.reshape(y, (-1, beams, layer.units))

    return step, new_caches


def beams_of_step(tokens, array, visible):
    """Returns the number of hypotheses per sentence, from the arguments of a `decode_step`.

    Args:
        tokens: ids `[rows]`.
        array: the array of any history.
        visible: see `History.read`. None, with unknown shapes, means one hypothesis.
    """
    if visible is not None:
        return visible.shape[1]
    rows, sentences = tokens.shape[0], array.shape[0]
    return 1 if rows is None or sentences is None else rows // sentences
