"""A record in a SavedModel of the signatures that may be batched across requests.

Batching is safe only if the answer for a row does not depend on the other rows. Attention weights
do: they are padded to the longest text of the batch. Only the export knows this, so it writes the
batchable signatures into `assets.extra`, the folder that TensorFlow reserves for such files.
TensorFlow Serving and `tf.saved_model.load` ignore it.
"""

import json
from pathlib import Path

FILE = Path("assets.extra") / "t2t_keras.json"
KEY = "batchable_signatures"


def write_batchable(folder, names):
    """Records in the SavedModel in `folder` that the signatures `names` may be batched."""
    path = Path(folder) / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({KEY: sorted(names)}) + "\n", encoding="utf-8")


def read_batchable(folder):
    """Returns the names of the signatures that may be batched.

    The set is empty for a SavedModel without the file, so each request is computed alone.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return frozenset()
    return frozenset(json.loads(path.read_text(encoding="utf-8"))[KEY])
