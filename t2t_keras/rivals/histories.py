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
            visible: see `Transformer.decode_step`. If None, each hypothesis
                stays in its beam.
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
        """Returns indices `[rows]` of slots in the flattened array.

        `beam`, `[sentences or 1, beams]`, contains the beam that wrote each slot.
        """
        sentences = ops.arange(ops.shape(array)[0], dtype="int32")[:, None]
        return ops.reshape((sentences * self.kept + position % self.kept) * beams + beam, (-1,))


def beams_at(position, beams, visible):
    """Returns the beam that each hypothesis had at a position: `[sentences or 1, beams]`."""
    beam = ops.arange(beams, dtype="int32")
    if visible is None:
        return beam[None]
    slots = ops.maximum(position, 0) * beams + beam
    seen = ops.take(visible, slots, axis=2)  # [sentences, beams, beams]
    return ops.cast(ops.argmax(ops.cast(seen, "int32"), axis=2), "int32")


def layer_steps(layers, position, cache, beams, visible):
    """Returns a function that applies a decoder layer to one position, and the new caches.

    Args:
        layers: the decoder's layers, with `width`, `units` and a `decode_step` that takes rows.
        position, beams, visible: see `History.read`.
        cache: the cache of each layer.

    Returns:
        (step, new_caches). `step(i, x)` applies layer i to x, `[sentences, beams, width]`, and
        returns `[sentences, beams, units]`. It appends the layer's new cache to `new_caches`.
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
        visible: see `History.read`. If it is None and the shapes are unknown, there is one
            hypothesis per sentence.
    """
    if visible is not None:
        return visible.shape[1]
    rows, sentences = tokens.shape[0], array.shape[0]
    return 1 if rows is None or sentences is None else rows // sentences
