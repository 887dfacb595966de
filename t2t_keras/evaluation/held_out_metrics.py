"""Names of the metrics of an evaluation on several held-out sets.

The metrics of a named set are `NAME/loss`, `NAME/bleu` and so on. The first set is the main set.
Its metrics also appear as `loss`, `bleu` and so on, as they do for a single set without a name.
"""


def joined(sets):
    """Merges {name of the set: metrics}, with the main set first, into one dict."""
    main = next(iter(sets.values()))
    return main | {
        f"{name}/{metric}": value
        for name, metrics in sets.items()
        for metric, value in metrics.items()
        if name and not isinstance(value, str)
    }


def by_set(metrics):
    """Returns {name of the set: metrics} for the named sets."""
    sets = {}
    for key, value in metrics.items():
        name, slash, metric = key.partition("/")
        if slash:
            sets.setdefault(name, {})[metric] = value
    return sets


def without_sets(metrics):
    """Returns the metrics that belong to no named set; omits the main set's unprefixed copies."""
    main = next(iter(by_set(metrics).values()), {})
    return {name: value for name, value in metrics.items() if "/" not in name and name not in main}


def names_in(evaluations):
    """Returns the names of the sets in several evaluations, in order of appearance."""
    return list(dict.fromkeys(name for each in evaluations for name in by_set(each)))


def of_set(evaluations, name):
    """Returns the evaluations of a named set, as dicts of the step and the set's metrics."""
    sets = [(each["step"], by_set(each)) for each in evaluations]
    return [{"step": step, **metrics[name]} for step, metrics in sets if name in metrics]
