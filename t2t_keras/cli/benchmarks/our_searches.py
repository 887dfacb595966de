"""The ways in which our search is computed."""

OURS = "t2t_keras"  # the way that the commands choose


def our_searches(all_ways, few_shapes):
    """Returns {name: function from a model and a `SearchConfig` to a search of `Rows`}.

    Args:
        all_ways: include the ways that `OURS` chooses from.
        few_shapes: whether batches have so few shapes that XLA can compile all of them.
    """
    from t2t_keras.translating.engines.search_graphs import compiled_search, graph_search

    ways = {OURS: graph_search}
    if all_ways and few_shapes:
        ways["compiled by XLA"] = compiled_search
    return ways


def name_of(beam):
    return "greedy" if beam == 1 else f"beam {beam}"
