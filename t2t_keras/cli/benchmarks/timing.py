"""How things are timed: in turn, so that a slower minute of the machine falls on all of them."""

import statistics
import time

from absl import flags

ROUNDS = flags.DEFINE_integer("rounds", 7, "Timed calls of each.", lower_bound=1)


def medians_of(calls, rounds):
    """Seconds a call, each warmed up twice and then timed in turn."""
    for call in calls:
        call()
        call()
    seconds = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]
