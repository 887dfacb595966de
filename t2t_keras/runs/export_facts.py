"""The record of an export, and the leftovers of unfinished ones."""

import dataclasses
import json
import shutil

from t2t_keras.runs.weights_digest import weights_digest


def facts_of(model, steps, search=None, **facts):
    """Returns the record of an export: its weights, its search settings and further facts.

    Args:
        model, steps: see `Run.loaded_with_steps`.
    """
    facts["weights"] = {"steps": steps, "digest": weights_digest(model)}
    if search is not None:
        facts["search"] = dataclasses.asdict(search)
    return json.loads(json.dumps(facts))  # as it will be read


def remove_unfinished(folder):
    """Removes the leftovers of processes that were killed while they wrote a version."""
    for path in folder.glob("[0-9]*.unfinished"):
        shutil.rmtree(path)
