"""Array operations for code that also runs without Keras, on NumPy arrays.

`ops` offers the operations of `keras.ops`. Inside `on_numpy()`, NumPy computes them, with the same
results. So the same search code works with Keras models, in graphs of any backend, and with
programs that compute only the logits of a step.
"""

import contextlib
import functools
import threading

import numpy as np

THREAD = threading.local()
NARROW = {"d": "float32", "l": "int32", "q": "int32"}  # {NumPy type code: 32-bit type, as in Keras}
FEW = 64  # up to this size, `top_k` sorts all numbers


@contextlib.contextmanager
def on_numpy():
    """Computes the operations of this thread with NumPy, without Keras."""
    before = getattr(THREAD, "on_numpy", False)
    THREAD.on_numpy = True
    try:
        yield
    finally:
        THREAD.on_numpy = before


class Operations:
    """The operations as attributes: NumPy's inside `on_numpy()`, else those of `keras.ops`."""

    def __getattr__(self, name):
        if getattr(THREAD, "on_numpy", False):
            return NUMPY.get(name) or getattr(np, name)
        from keras import ops  # takes more than a second

        return getattr(ops, name)


ops = Operations()


def map_structure(function, structure):
    """Applies a function to the arrays in nested dicts, lists and tuples. None stays None."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: map_structure(function, each) for key, each in structure.items()}
    if isinstance(structure, list | tuple):
        parts, kind = [map_structure(function, each) for each in structure], type(structure)
        return kind(*parts) if hasattr(structure, "_fields") else kind(parts)
    return function(structure)


def narrow(x):
    return x.astype(NARROW[x.dtype.char]) if x.dtype.char in NARROW else x


def narrowed(function):
    """Returns a function whose result has 32-bit numbers."""
    return lambda *args, **kwargs: narrow(np.asarray(function(*args, **kwargs)))


def of_type(function):
    """Returns a reduction whose result has the type of its argument."""
    return lambda x, axis=None, keepdims=False: function(x, axis, x.dtype, keepdims=keepdims)


@functools.lru_cache(1000)
def arange(*limits, dtype=None):
    numbers = narrow(np.arange(*limits, dtype=dtype))
    numbers.flags.writeable = False  # the array is cached and shared by all callers
    return numbers


@functools.lru_cache(1000)
def places(shape):
    """Returns index arrays for leading axes of this shape, for use in `take_along_axis`."""
    return np.ix_(*map(np.arange, shape), [0])[:-1]


def take_along_axis(x, indices, axis):
    axis %= x.ndim
    if axis + 1 < x.ndim:
        if indices.shape[axis + 1 :] != (1,) * (x.ndim - axis - 1):
            return np.take_along_axis(x, indices, axis)
        indices = indices.reshape(indices.shape[: axis + 1])  # whole vectors are copied
    return x[(*places(x.shape[:axis]), indices)]


def top_k(x, k):
    """Returns the k largest numbers along the last axis, descending, and their indices."""
    if x.shape[-1] <= FEW:
        order = (-x).argsort(axis=-1, kind="stable")[..., :k]
    else:
        order = x.argpartition(-k, axis=-1)[..., -k:]
        order.sort(axis=-1)
        best = (-take_along_axis(x, order, -1)).argsort(axis=-1, kind="stable")
        order = take_along_axis(order, best, -1)
    return take_along_axis(x, order, -1), order.astype("int32")


def logsumexp(x, axis=-1, keepdims=False):
    largest = x.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        result = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    return result if keepdims else result.squeeze(axis)


def log_softmax(x):
    return x - logsumexp(x, keepdims=True)


def scatter_update(x, indices, updates):
    x = x.copy()
    x[tuple(indices.T)] = updates
    return x


def cond(condition, if_true, if_false):
    return if_true() if condition else if_false()


def while_loop(condition, body, values):
    while condition(*values):
        values = body(*values)
    return values


# {operation: function}, where NumPy's own of this name differs
NUMPY = {
    "all": lambda x, axis=None, keepdims=False: x.all(axis, keepdims=keepdims),
    "any": lambda x, axis=None, keepdims=False: x.any(axis, keepdims=keepdims),
    "arange": arange,
    "argmax": narrowed(np.argmax),
    "cast": lambda x, dtype: np.asanyarray(x).astype(dtype, copy=False),
    "cond": cond,
    "convert_to_tensor": lambda x, dtype=None: narrow(np.asarray(x, dtype)),
    "cumsum": of_type(lambda x, axis, dtype, keepdims: np.cumsum(x, axis, dtype)),
    "full": lambda shape, value, dtype="float32": np.full(shape, value, dtype),
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "max": lambda x, axis=None, keepdims=False: x.max(axis, keepdims=keepdims),
    "maximum": narrowed(np.maximum),
    "minimum": narrowed(np.minimum),
    "ones": lambda shape, dtype="float32": np.ones(shape, dtype),
    "reshape": lambda x, shape: x.reshape(shape),
    "scatter_update": scatter_update,
    "shape": lambda x: x.shape,
    "softmax": lambda x: np.exp(log_softmax(x)),
    "sum": of_type(np.sum),
    "take_along_axis": take_along_axis,
    "top_k": top_k,
    "where": narrowed(np.where),
    "while_loop": while_loop,
    "zeros": lambda shape, dtype="float32": np.zeros(shape, dtype),
}
