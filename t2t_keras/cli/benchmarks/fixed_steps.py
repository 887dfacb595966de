"""Measures the sentences per second of searches with random weights and a fixed number of steps."""

import dataclasses
import functools
import time

from t2t_keras.cli.benchmarks import ctranslate2_engines, litert_engines, table


def measure(config, source_length, length, rows, rounds, beside):
    """Prints a table with one column per system.

    Args:
        config: an `Experiment`.
        source_length: tokens per source sentence.
        length: number of search steps.
        rows: sentences per batch. Single sentences are also measured.
        rounds: timed calls of each measurement.
        beside: whether LiteRT and CTranslate2 are also measured.
    """
    import keras

    from t2t_keras.reproduction.timing import median_seconds

    config.validate()
    if beside:
        ctranslate2_engines.check_comparable()
    if config.training.precision != "float32":
        keras.config.set_dtype_policy(config.training.precision)
    model = model_without_end(config.model)
    cases = [
        (sentences, beam)
        for sentences in sorted({1, rows})
        for beam in sorted({1, config.search.beam})
    ]
    sources = {sentences: random_source(model, sentences, source_length) for sentences, _ in cases}
    systems = {
        name: [functools.partial(search, sources[sentences], beam) for sentences, beam in cases]
        for name, search in all_searches(model, config, length, source_length, beside).items()
    }
    print(
        f"Sentences per second: {source_length} source tokens, {length} steps, "
        f"{config.training.precision}, {keras.config.backend()}, medians of {rounds} rounds"
    )
    if beside:
        ctranslate2_engines.print_note()
    table.print_head(systems)
    warm_up = {name: warm_up_seconds(systems[name], cases, length) for name in systems}
    table.print_facts("warm-up, s", warm_up, "{:.1f}")
    # Each case is measured on all systems in a row, so that a slow moment affects all of them.
    calls = [systems[name][index] for index in range(len(cases)) for name in systems]
    medians = iter(median_seconds(calls, rounds))
    for sentences, beam in cases:
        speeds = {name: sentences / next(medians) for name in systems}
        table.print_speeds(f"{name_of(beam):<8} batch {sentences}", speeds)


def model_without_end(config):
    """Returns a model with random weights whose output bias prevents the end token.

    All searches with it take the same number of steps.
    """
    import numpy as np

    from t2t_keras.transformer import Transformer

    # CTranslate2 appends the end token to sources unless `source_end` is False.
    model = Transformer(dataclasses.replace(config, output_bias=True, source_end=False))
    bias = np.zeros(config.vocab_size, "float32")
    bias[:3] = -1e4
    model.embedding.bias.assign(bias)
    return model


def random_source(model, rows, length):
    import numpy as np

    random = np.random.default_rng(0)
    size = model.config.source_vocab_size or model.config.vocab_size
    return random.integers(4, size, (rows, length)).astype("int32")


def warm_up_seconds(searches, cases, length):
    """Returns the seconds that the first call of every search takes, compilation included."""
    start = time.perf_counter()
    for search, (sentences, _) in zip(searches, cases, strict=True):
        assert search() == sentences * length, "a search ended early"
    return time.perf_counter() - start


def all_searches(model, config, length, source_length, beside):
    """Returns {system: function of (source ids, beam) that returns the number of tokens}."""
    import keras

    extra_length = length - source_length
    if keras.config.backend() == "jax":
        return {OURS: jax_search(model, length, extra_length)}
    searches = {
        name: our_search(way, model, extra_length)
        for name, way in our_searches(beside, few_shapes=True).items()
    }
    if beside:
        beam = max(config.search.beam, 2)
        for name, search in litert_engines.searches(model, beam, extra_length).items():
            searches[name] = functools.partial(tokens_of, search)
        engines = ctranslate2_engines.engines(functools.partial(save, model))
        searches |= {
            name: functools.partial(ctranslate2_tokens, engine, length)
            for name, engine in engines.items()
        }
    return searches


def our_search(way, model, extra_length):
    import numpy as np

    from t2t_keras.decoding.rows import Rows
    from t2t_keras.decoding.search_config import SearchConfig

    @functools.cache
    def with_beam(beam):
        return way(model, SearchConfig(beam=beam, extra_length=extra_length))

    def tokens(source, beam):
        rows = Rows(source, range(len(source)))
        return count(np.asarray(with_beam(beam)(rows).tokens))

    return tokens


def jax_search(model, length, extra_length):
    import jax
    import keras
    import numpy as np

    from t2t_keras.decoding.search import search
    from t2t_keras.decoding.search_config import SearchConfig

    @functools.partial(jax.jit, static_argnums=2)
    def decode(weights, source, beam):
        config = SearchConfig(beam=beam, extra_length=extra_length)
        with keras.StatelessScope(list(zip(model.variables, weights, strict=True))):
            return search(model, source, length, config).tokens

    weights = [weight.value for weight in model.variables]
    return lambda source, beam: count(np.asarray(decode(weights, source, beam)))


def tokens_of(search, source, beam):
    return count(search(source, beam).tokens)


def count(tokens):
    """Returns the number of tokens of the best hypotheses."""
    return (tokens[:, 0] > 0).sum()


def save(model, folder):
    """Writes a model for CTranslate2 in which the text of each piece is its id."""
    from t2t_keras.export.ctranslate2 import save_ctranslate2

    config = model.config
    sizes = config.vocab_size, config.source_vocab_size or config.vocab_size
    pieces, source_pieces = (list(map(str, range(size))) for size in sizes)
    save_ctranslate2(model, pieces, folder, source_pieces=source_pieces)


def ctranslate2_tokens(engine, length, source, beam):
    results = engine.translate_batch(
        [list(map(str, ids)) for ids in source.tolist()],
        beam_size=beam,
        min_decoding_length=length,
        max_decoding_length=length,
    )
    return sum(len(result.hypotheses[0]) for result in results)


OURS = "t2t_keras"  # the search that the commands use


def our_searches(all_ways, few_shapes):
    """Returns {name: function of (model, `SearchConfig`) that returns a search of `Rows`}.

    Args:
        all_ways: whether to include the alternatives among which `OURS` chooses.
        few_shapes: whether batches have so few shapes that XLA can compile all of them.
    """
    from t2t_keras.translating.engines.search_graphs import compiled_search, graph_search

    ways = {OURS: graph_search}
    if all_ways and few_shapes:
        ways["compiled by XLA"] = compiled_search
    return ways


def name_of(beam):
    return "greedy" if beam == 1 else f"beam {beam}"
