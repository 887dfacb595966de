"""Constants of the signatures of a SavedModel, importable without Keras."""

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
COMPILED = "translate_small_batch"  # the signature that XLA compiles
