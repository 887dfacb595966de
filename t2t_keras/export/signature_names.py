"""The signatures of a SavedModel: names and limits. This file does not load Keras."""

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
ATTENTION_LONGEST = 256  # maximum number of tokens of a text in a request for attention weights
BEST, LISTS = "serving_default", "translate_n_best"
OPTIONS = "translate_with_options"


class Ids:
    """Names of the signatures that take ids."""

    SEARCH, OPTIONS, PHRASES = "ids_search", "ids_with_options", "ids_with_phrases"
    SMALL = "ids_small_batch"  # compiled by XLA
    LOG_P, ATTENTION, ALL_ATTENTION = "ids_log_p", "ids_attention", "ids_all_attention"
