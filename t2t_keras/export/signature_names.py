"""The signatures of a SavedModel: names, limits, and the record of those that may be batched.

Batching is safe only if the answer for a row does not depend on the other rows. Attention weights
do: they are padded to the longest text of the batch. Only the export knows this, so it writes the
batchable signatures into `assets.extra`, the folder that TensorFlow reserves for such files.
TensorFlow Serving and `tf.saved_model.load` ignore it. This file does not load Keras.
"""

import json
from pathlib import Path

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
BATCHABLE_FILE = Path("assets.extra") / "t2t_keras.json"
BATCHABLE = "batchable_signatures"  # key in this file


def is_served(name):
    """Returns whether a signature is for clients, given its name."""
    return not name.startswith("ids_") and name not in EARLIER


def write_batchable(folder, names):
    """Records in the SavedModel in `folder` that the signatures `names` may be batched."""
    path = Path(folder) / BATCHABLE_FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({BATCHABLE: sorted(names)}) + "\n", encoding="utf-8")


def read_batchable(folder):
    """Returns the names of the signatures that may be batched.

    The set is empty for a SavedModel without the file, so each request is computed alone.
    """
    path = Path(folder) / BATCHABLE_FILE
    if not path.exists():
        return frozenset()
    return frozenset(json.loads(path.read_text(encoding="utf-8"))[BATCHABLE])
