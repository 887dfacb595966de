"""Constants of the signatures of a SavedModel, importable without Keras."""

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
ATTENTION_LONGEST = 256  # tokens of a text in a request for attention weights
REQUIRED_LONGEST = 256  # tokens of the phrases for a text, together
ALIGN, SCORE_PIECES = "align", "score_pieces"
SMALL_BATCH, BATCH = "translate_small_batch", "translate_batch"
OPTIONS = "translate_with_options"
COMPILED = (SMALL_BATCH, BATCH)  # the signatures that XLA compiles
