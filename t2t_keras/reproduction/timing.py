"""Times several calls in turn, so that a temporary slowdown affects all of them alike."""

import statistics
import time

from t2t_keras.checks import check_integer


def median_seconds(calls, rounds, warm_up=2):
    """Returns the median seconds of each function in `calls`, after `warm_up` calls of each."""
    for call in calls:
        for _ in range(warm_up):
            call()
    seconds = [[] for _ in calls]
    for _ in range(rounds):
        for call, measured in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            measured.append(time.perf_counter() - start)
    return [statistics.median(measured) for measured in seconds]


def sorted_lengths(lengths):
    """Returns the distinct lengths, integers or decimal strings from a flag, in ascending order."""
    lengths = [int(n) if isinstance(n, str) and n.isdecimal() else n for n in lengths]
    if not lengths:
        raise ValueError("`lengths` must have at least one length. Received: none")
    for length in lengths:
        check_integer("lengths", length)
    return tuple(sorted(set(lengths)))
