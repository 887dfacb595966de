"""Names of the metrics of an evaluation on several held-out sets.

The metrics of a set with a name are `NAME/loss`, `NAME/bleu` and so on. The first set is the main
one: its metrics also appear as `loss`, `bleu` and so on, as those of a single set without a name.
"""


def joined(sets):
    """Returns the metrics of all sets as one dict.

    Args:
        sets: a dict from the name of each set, the main one first, to its metrics.
    """
    main = next(iter(sets.values()))
    return main | {
        f"{name}/{metric}": value
        for name, metrics in sets.items()
        for metric, value in metrics.items()
        if name and not isinstance(value, str)
    }


def by_set(metrics):
    """Returns a dict from the name of each named set to its metrics."""
    sets = {}
    for key, value in metrics.items():
        name, slash, metric = key.partition("/")
        if slash:
            sets.setdefault(name, {})[metric] = value
    return sets


def without_sets(metrics):
    """Returns the metrics that do not depend on a named set: not those of the main set, either."""
    main = next(iter(by_set(metrics).values()), {})
    return {name: value for name, value in metrics.items() if "/" not in name and name not in main}


def names_in(evaluations):
    """Returns the names of the named sets of several evaluations, in order of appearance."""
    return list(dict.fromkeys(name for each in evaluations for name in by_set(each)))


def of_set(evaluations, name):
    """Returns the evaluations of one named set, dicts of its metrics and the step."""
    sets = [(each["step"], by_set(each)) for each in evaluations]
    return [{"step": step, **metrics[name]} for step, metrics in sets if name in metrics]
