"""The signatures of a SavedModel: names, limits, and the record of the batchable ones.

Batching is safe only if the answer for a row does not depend on the other rows. Attention weights
depend on them: they are padded to the longest text of the batch. A SavedModel does not contain this
information, so the export writes the names of the batchable signatures into `assets.extra`, a
folder that TensorFlow reserves for additional files. TensorFlow Serving and `tf.saved_model.load`
ignore it. This file does not load Keras.
"""

import json
from pathlib import Path

import numpy as np

NO_SCORE = float(np.finfo("float32").min)  # score of a missing translation: JSON has no −∞
ATTENTION_LONGEST = 256  # maximum number of tokens of a text in a request for attention weights
BEST, LISTS = "serving_default", "translate_n_best"
OPTIONS = "translate_with_options"
# Names of the signatures that take ids, which are not served.
IDS_SEARCH = "ids_search"
IDS_WITH_OPTIONS = "ids_with_options"
IDS_PHRASES = "ids_with_phrases"
IDS_SMALL = "ids_small_batch"  # compiled by XLA
IDS_LOG_P = "ids_log_p"
IDS_ATTENTION = "ids_attention"
# Signatures of earlier versions that are not served either. They take text; XLA compiles them.
EARLIER = ("translate_small_batch", "translate_batch")
BATCHABLE_FILE = Path("assets.extra") / "t2t_keras.json"
BATCHABLE = "batchable_signatures"  # the key in BATCHABLE_FILE


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

    The set is empty for a SavedModel without the file, so that each request is computed alone.
    """
    path = Path(folder) / BATCHABLE_FILE
    if not path.exists():
        return frozenset()
    return frozenset(json.loads(path.read_text(encoding="utf-8"))[BATCHABLE])
