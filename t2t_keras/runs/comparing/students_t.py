"""Student's t test of the results of trainings that differ in their seeds."""

import math
import statistics

import tensorflow as tf


def pooled_p(groups):
    """Returns Student's test of two groups with the variance within all groups.

    Args:
        groups: {name: numbers}.

    Returns:
        A function from two groups to the two-sided p of "their means are the same".
    """
    freedom = freedom_of(groups)
    squares = sum(statistics.variance(found) * (len(found) - 1) for found in groups.values())
    variance = squares / freedom

    def p_of(one, other):
        error = math.sqrt(variance * (1 / len(one) + 1 / len(other)))
        return two_sided_p(statistics.mean(one) - statistics.mean(other), error, freedom)

    return p_of


def freedom_of(groups):
    """Returns the degrees of freedom of the variance within all groups."""
    return sum(len(found) - 1 for found in groups.values())


def two_sided_p(difference, error, freedom):
    """Returns the two-sided p of a difference with a standard error, by Student's t."""
    if not error:
        return 0.0 if difference else 1.0
    x = freedom / (freedom + (difference / error) ** 2)
    a, b, x = (tf.constant(each, tf.float64) for each in (freedom / 2, 0.5, x))
    return float(tf.math.betainc(a, b, x))
