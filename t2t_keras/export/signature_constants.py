"""Constants of the signatures of a SavedModel, importable without Keras."""

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
ATTENTION_LONGEST = 256  # tokens of a text in a request for attention weights
BEST, LISTS = "serving_default", "translate_n_best"
OPTIONS = "translate_with_options"
# The signatures that take ids, which are not served.
IDS_SEARCH, IDS_WITH_OPTIONS, IDS_PHRASES = "ids_search", "ids_with_options", "ids_with_phrases"
IDS_SMALL = "ids_small_batch"  # compiled by XLA
IDS_LOG_P, IDS_ATTENTION = "ids_log_p", "ids_attention"
# Those of earlier versions, which take text and are compiled by XLA.
EARLIER = ("translate_small_batch", "translate_batch")


def is_served(name):
    """Returns whether a signature is for clients, given its name."""
    return not name.startswith("ids_") and name not in EARLIER
