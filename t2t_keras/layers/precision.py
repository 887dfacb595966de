"""Protection against rounding in half precision.

Under a mixed policy, the layers multiply in bfloat16. Sums of many terms and values that span many
orders of magnitude (softmax, positions, logits, loss) are computed in float32 instead.
"""

import keras
from keras import ops


def at_least_float32(x):
    """Casts half precision to float32; leaves float32 and float64 unchanged."""
    return ops.cast(x, keras.backend.result_type(x.dtype, "float32"))
