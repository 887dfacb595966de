"""Where numbers must not be rounded to half precision.

Under a mixed policy the layers multiply in bfloat16; what sums many terms or spans many
orders of magnitude (softmax, positions, logits, loss) is computed through this function.
"""

import keras
from keras import ops


def at_least_float32(x):
    """Casts half precision up to float32 and leaves float32 and float64 as they are."""
    return ops.cast(x, keras.backend.result_type(x.dtype, "float32"))
