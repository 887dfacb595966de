"""The longest path between two positions of a source in each kind of encoder (Table 1, §4)."""

from t2t_keras.models import architecture_of

LONGEST_PATHS = {
    "transformer": "O(1)",
    "gnmt": "O(n)",
    "moe": "O(n)",
    "convs2s": "O(n/k)",  # contiguous kernels (§4); O(log_k n) in Table 1 needs dilation
    "bytenet": "O(log_k n)",
}


def longest_path(config):
    """Returns the order of the longest path as in the paper, for the settings of any model.

    ByteNet's order holds only while dilations grow with n.
    """
    if getattr(config, "neighbourhood", None) is not None:
        return "O(n/r)"
    return LONGEST_PATHS[architecture_of(config)]
