"""The record of an export, and the leftovers of unfinished exports."""

import dataclasses
import hashlib
import json
import shutil

import numpy as np
from keras import ops


def facts_of(model, steps, search=None, **facts):
    """Returns the record of an export: its weights, its search settings and further facts.

    Args:
        model, steps: see `Run.loaded_with_steps`.
    """
    facts["weights"] = {"steps": steps, "digest": weights_digest(model)}
    if search is not None:
        facts["search"] = dataclasses.asdict(search)
    return json.loads(json.dumps(facts))  # the same types as when it is read from a file


def remove_unfinished(folder):
    """Removes the leftovers of processes that were killed while they wrote a version."""
    for path in folder.glob("[0-9]*.unfinished"):
        shutil.rmtree(path)


def weights_digest(model):
    """Returns a digest of a model's weights. Files with equal weights may differ."""
    digest = hashlib.blake2b(digest_size=16)
    for weight in model.weights:
        array = ops.convert_to_numpy(weight)
        digest.update(repr((array.dtype.name, array.shape)).encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()
