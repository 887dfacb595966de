"""The tensors of another system's model, read only when they are needed.

A model file may be larger than the free memory. Conversions are therefore planned with
shapes alone, and a tensor is read only when its weights are written. Rows are reordered in the
file's type, so that only one float32 copy of the largest matrix is in memory.
"""

import math

import numpy as np


class Tensor:
    """An array that is computed when it is read.

    `compute()` returns an array of the shape, of any floating-point type.
    """

    def __init__(self, shape, compute):
        self.shape, self.compute = tuple(shape), compute

    def stored(self):
        """Returns the array in the file's type."""
        array = self.compute()
        assert array.shape == self.shape, (array.shape, self.shape)
        return array

    def read(self):
        """Returns the array in float32."""
        return np.asarray(self.stored(), "float32")

    def equals(self, other):
        """Returns whether two tensors contain the same numbers."""
        return self is other or (
            self.shape == other.shape and np.array_equal(self.stored(), other.stored())
        )

    @property
    def transposed(self):
        return Tensor(self.shape[::-1], lambda: self.stored().T)

    def reshaped(self, *shape):
        if math.prod(shape) != math.prod(self.shape):
            raise ValueError(f"a tensor of shape {self.shape} cannot have the shape {shape}")
        return Tensor(shape, lambda: self.stored().reshape(shape))

    def rows(self, start, stop):
        shape = (stop - start, *self.shape[1:])
        return Tensor(shape, lambda: self.stored()[start:stop])

    def times(self, factor):
        return Tensor(self.shape, lambda: self.read() * np.float32(factor))

    def split(self, parts):
        """Returns equal parts of the first axis."""
        rows, rest = divmod(self.shape[0], parts)
        if rest:
            raise ValueError(f"a tensor of shape {self.shape} cannot be split into {parts} parts")
        return [self.rows(i * rows, i * rows + rows) for i in range(parts)]


def concatenated(tensors):
    """Concatenates tensors along the first axis."""
    rows = sum(tensor.shape[0] for tensor in tensors)
    shape = (rows, *tensors[0].shape[1:])
    return Tensor(shape, lambda: np.concatenate([each.stored() for each in tensors]))


class Tensors(dict):
    """{name: `Tensor`} of a model in the file or folder `origin`, with a record of those used."""

    def __init__(self, tensors, origin):
        super().__init__(tensors)
        self.origin, self.used = origin, set()

    def take(self, name, *shape):
        """Returns a tensor of a shape, in which None is any size, and marks it as used."""
        if name not in self:
            raise ValueError(f"{self.origin} has no tensor {name}, which such a model needs")
        tensor = self[name]
        fits = len(shape) == len(tensor.shape) and all(
            size in (None, actual) for size, actual in zip(shape, tensor.shape, strict=True)
        )
        if shape and not fits:
            expected = ", ".join("any" if size is None else str(size) for size in shape)
            raise ValueError(
                f"{self.origin}: {name} must have the shape ({expected}). Received: {tensor.shape}"
            )
        self.used.add(name)
        return tensor

    def find(self, name, *shape):
        """Does the same as `take`, but returns None if there is no tensor with this name."""
        return self.take(name, *shape) if name in self else None

    def ignore(self, names):
        """Marks tensors that need not be imported, such as an optimizer's state, as used."""
        self.used.update(names)

    def check_all_used(self):
        """Raises `ValueError` with a list of unused tensors, if there are any."""
        left = [name for name in self if name not in self.used]
        if left:
            more = f" and {len(left) - 8} more" if len(left) > 8 else ""
            raise ValueError(
                f"{self.origin} has tensors that the paper's Transformer does not have, so it is "
                f"not imported: {', '.join(left[:8])}{more}"
            )
