"""Dual conditional cross-entropy (Junczys-Dowmunt 2018), by which bad sentence pairs are found.

Two models judge a pair, one in each direction. A good pair is probable for both, and equally so:
a text that says more or less than its translation surprises one model more than the other.

Reference: https://aclanthology.org/W18-6478/, Section 3.1
"""

import math


def dual_cross_entropy(forward, backward):
    """Returns the paper's |H_A(y|x) - H_B(x|y)| + ½ (H_A(y|x) + H_B(x|y)), which is 0 at best.

    Args:
        forward: H_A(y|x), cross-entropy of the target given the source, per token, in nats.
        backward: H_B(x|y), the same for the source given the target by the reverse model.
    """
    return abs(forward - backward) + (forward + backward) / 2


def adequacy(forward, backward):
    """Returns the paper's score of a pair, from 0 to 1 (best): exp(−dual cross-entropy).

    Example:

    >>> adequacy(1.0, 1.0) > adequacy(0.5, 1.5)
    True
    """
    return math.exp(-dual_cross_entropy(forward, backward))
