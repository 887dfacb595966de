"""A digest of a model's weights, to record what an export or a translation was made with."""

import hashlib

import numpy as np
from keras import ops


def weights_digest(model):
    """Returns a digest of a model's weights. Files with equal weights may differ."""
    digest = hashlib.blake2b(digest_size=16)
    for weight in model.weights:
        array = ops.convert_to_numpy(weight)
        digest.update(repr((array.dtype.name, array.shape)).encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()
