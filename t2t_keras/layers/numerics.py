"""Protection against rounding in half precision, and custom gradients on any backend.

Under a mixed policy, the layers multiply in bfloat16. Sums of many terms and values that span many
orders of magnitude (softmax, positions, logits, loss) are computed in float32 instead.
"""

import keras
from keras import ops


def at_least_float32(x):
    """Casts half precision to float32. Leaves float32 and float64 unchanged."""
    return ops.cast(x, keras.backend.result_type(x.dtype, "float32"))


def upstream_gradient(args, upstream):
    """Returns the upstream gradient from the arguments of a custom gradient.

    TensorFlow and JAX call `gradient(upstream)`, PyTorch `gradient(*inputs, upstream=upstream)`. So
    every gradient function for `ops.custom_gradient` has the parameters `*args, upstream=None`.
    """
    return args[0] if upstream is None else upstream
