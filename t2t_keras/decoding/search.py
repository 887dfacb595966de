"""The search that a `SearchConfig` asks for."""

from t2t_keras.decoding.beam_search import beam_search
from t2t_keras.decoding.greedy import greedy


def search(model, source, max_length, config):
    """`Hypotheses` of each sentence; see `beam_search` for the arguments."""
    function = greedy if config.beam == 1 else beam_search
    return function(model, source, max_length, config)
