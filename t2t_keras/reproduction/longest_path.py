"""The longest path between two positions of a source, by the kind of encoder (Table 1, §4)."""

from t2t_keras.models import architecture_of

LONGEST_PATHS = {
    "transformer": "O(1)",
    "gnmt": "O(n)",
    "moe": "O(n)",
    "convs2s": "O(n/k)",  # Table 1 has O(log_k n) for dilated convolutions only, see §4
    "bytenet": "O(log_k n)",
}


def longest_path(config):
    """Returns the order of the longest path in the encoder of a model.

    Args:
        config: the settings of any model in `MODELS`.
    """
    if getattr(config, "neighbourhood", None) is not None:
        return "O(n/r)"
    return LONGEST_PATHS[architecture_of(config)]
