"""Values of JSON to arrays and back, as TensorFlow Serving maps them."""

import base64
import binascii
from typing import NamedTuple

import numpy as np

from t2t_keras.serving.limits import Refusal

KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
BASE64 = "b64"
BINARY = "_bytes"  # how the name of an output ends whose strings are no text


class Spec(NamedTuple):
    """A tensor as a signature declares it."""

    dtype: str  # "string", "float32", "int32", "bool", …
    shape: tuple  # None where any size will do; the first axis is that of the rows


def array_of(name, values, spec, longest):
    """The array that nested lists of JSON make up.

    Args:
        name: of the input, for messages.
        values: what was given.
        spec: the `Spec` that it must have.
        longest: how many bytes a string may have.

    Returns:
        A NumPy array; of objects, which are bytes, for strings.
    """
    shape, inner = [], values
    while isinstance(inner, list):
        shape.append(len(inner))
        if len(shape) > len(spec.shape) or not inner:
            break
        inner = inner[0]
    if 0 in shape:
        raise Refusal(400, f"Input {name!r} is empty: give one row or more")
    allowed = zip(spec.shape, shape, strict=False)
    if len(shape) != len(spec.shape) or any(size not in (None, given) for size, given in allowed):
        raise Refusal(
            400,
            f"Input {name!r} must have the shape {written(spec.shape)}. "
            f"Received: one of shape {written(shape)}",
        )
    leaves = []
    gather(name, values, shape, leaves)
    made = [leaf_of(name, leaf, spec.dtype, longest) for leaf in leaves]
    array = np.empty(len(made), object if spec.dtype == "string" else spec.dtype)
    array[:] = made
    return array.reshape(shape)


def written(shape):
    """
    >>> written((None, 3))
    '[any, 3]'
    """
    return f"[{', '.join('any' if size is None else str(size) for size in shape)}]"


def gather(name, values, shape, leaves):
    """Appends what stands in nested lists, all of which must be as long as the first."""
    if not shape:
        if isinstance(values, list):
            raise Refusal(400, f"Input {name!r}: a list stands beside single values")
        leaves.append(values)
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        found = len(values) if isinstance(values, list) else KINDS.get(type(values), "a number")
        raise Refusal(
            400, f"Input {name!r}: its lists must be of one length, {shape[0]}. Received: {found}"
        )
    for value in values:
        gather(name, value, shape[1:], leaves)


def leaf_of(name, value, dtype, longest):
    """One value as the dtype asks for it, or a `Refusal`."""
    if dtype == "string":
        return bytes_of(name, value, longest)
    kind = np.dtype(dtype).kind
    right = {
        "b": isinstance(value, bool),
        "f": isinstance(value, int | float) and not isinstance(value, bool),
    }.get(kind, isinstance(value, int) and not isinstance(value, bool))
    if not right:
        raise wrong_type(name, value, dtype)
    if kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise Refusal(400, f"Input {name!r}: a number is too large for {dtype}")
    try:
        return float(value) if kind == "f" else value
    except OverflowError:
        raise Refusal(400, f"Input {name!r}: a number is too large for {dtype}") from None


def bytes_of(name, value, longest):
    if isinstance(value, dict) and set(value) == {BASE64} and isinstance(value[BASE64], str):
        try:
            text = base64.b64decode(value[BASE64] + "=" * (-len(value[BASE64]) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise Refusal(400, f"Input {name!r}: what {BASE64!r} holds is no base64") from None
    elif isinstance(value, str):
        try:
            text = value.encode()
        except UnicodeEncodeError:
            raise Refusal(
                400, f"Input {name!r}: a string holds half of a surrogate pair, which is no text"
            ) from None
    else:
        raise wrong_type(name, value, 'a string, or {"b64": "…"} for bytes')
    if len(text) > longest:
        raise Refusal(
            413, f"Input {name!r}: a text has {len(text):,} bytes; at most {longest:,} are taken"
        )
    return text


def wrong_type(name, value, wanted):
    found = KINDS.get(type(value), "a number")
    return Refusal(400, f"Input {name!r}: every value must be {wanted}. Received: {found}")


def values_of(name, array):
    """An output as JSON knows it: nested lists, in which what is no number is None.

    TensorFlow Serving writes NaN and Infinity, which are not JSON, and strict readers refuse the
    whole answer. As it does, a float32 is written with the few digits that tell it from the next.
    """
    if array.dtype == object:
        return text_values(array.tolist(), name.endswith(BINARY))
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype != np.float64:
        array = array.astype(np.float32).astype("U16").astype(np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    return np.where(np.isfinite(array), array.astype(object), None).tolist()


def text_values(values, binary):
    if isinstance(values, list):
        return [text_values(value, binary) for value in values]
    if binary:
        return {BASE64: base64.b64encode(values).decode()}
    return values.decode("utf-8", "replace")
