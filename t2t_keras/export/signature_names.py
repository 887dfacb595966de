"""The signatures of a SavedModel: names and limits. This file does not load Keras."""

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
ATTENTION_LONGEST = 256  # maximum number of tokens of a text in a request for attention weights
BEST, LISTS = "serving_default", "translate_n_best"
OPTIONS = "translate_with_options"
# Names of the signatures that take ids.
IDS_SEARCH = "ids_search"
IDS_WITH_OPTIONS = "ids_with_options"
IDS_PHRASES = "ids_with_phrases"
IDS_SMALL = "ids_small_batch"  # compiled by XLA
IDS_LOG_P = "ids_log_p"
IDS_ATTENTION = "ids_attention"
IDS_ALL_ATTENTION = "ids_all_attention"
