"""The ways in which our search is computed."""

import functools

OURS = "t2t_keras"  # the way that the commands choose


def our_searches(all_ways, few_shapes):
    """Returns {name: function from a model and a `SearchConfig` to a search of `Rows`}.

    `OURS` compiles a shape of small batches at its second batch, not after seconds of use.

    Args:
        all_ways: include the ways that `OURS` chooses from.
        few_shapes: whether batches have so few shapes that XLA can compile all of them.
    """
    from t2t_keras.decoding.search import method_of
    from t2t_keras.translating.engines.search_graphs import (
        compiled_search,
        graph_search,
        staged_graph,
    )

    def in_stages(model, config):
        return staged_graph(model, config, method_of(model, config))

    ways = {OURS: functools.partial(graph_search, pays_after=0.0)}
    if all_ways:
        ways["graph in stages"] = in_stages
    if all_ways and few_shapes:
        ways["compiled by XLA"] = compiled_search
    return ways


def name_of(beam):
    return "greedy" if beam == 1 else f"beam {beam}"
