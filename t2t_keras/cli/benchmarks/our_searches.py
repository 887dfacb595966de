"""The ways in which our search is computed."""

OURS = "t2t_keras"  # the way that the commands choose


def our_searches(all_ways):
    """Returns {name: function from a model and a `SearchConfig` to a search}, for TensorFlow.

    Args:
        all_ways: include the ways that `OURS` chooses from.
    """
    from t2t_keras.runs.search_graphs import compiled_search, graph_search, staged_graph

    ways = {OURS: graph_search}
    if all_ways:
        ways |= {"graph in stages": staged_graph, "compiled by XLA": compiled_search}
    return ways


def name_of(beam):
    return "greedy" if beam == 1 else f"beam {beam}"
