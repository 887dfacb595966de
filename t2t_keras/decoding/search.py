"""Runs the search method that a `SearchConfig` selects.

A search method is a class with five methods. `start` returns the initial state, `step` the state
after one more token, and `with_room` the state with room for more tokens. `unfinished` returns
which sentences are not finished, and `hypotheses` returns the result. The first axis of every array
in a state is the sentence; only `position` is a scalar.

A class with `draws = True` takes random numbers: `draws_of` the sentences, as `extras["draws"]`.
"""

from pipelines.registry import Registry
from t2t_keras.checks import check
from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.greedy import Greedy
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.sampling import Sampling, draws_of
from t2t_keras.ops import ops


def beam_or_greedy(model, config, trees=None):
    """Returns beam search, or greedy search for a beam of 1."""
    return (Greedy if config.beam == 1 else BeamSearch)(model, config, trees)


# The choices of `SearchConfig.method`.
METHODS = Registry("METHODS", "search.method", {"beam": beam_or_greedy, "sample": Sampling})


def needs_draws(config):
    """Returns whether the search method takes random numbers; see `draws_of`."""
    return getattr(METHODS[config.method], "draws", False)


def method_of(model, config, trees=None):
    """Returns the search method that `config` selects for a `Transformer` or an `Ensemble`.

    `trees` is the `TreeConstraint` if `config.constrain` is "tree", and None otherwise.
    """
    if bool(config.constrain) != (trees is not None):
        raise ValueError(
            "constrain='tree' needs `trees`, a TreeConstraint, and `trees` needs it. Received: "
            f"constrain={config.constrain!r}, trees={trees}"
        )
    return METHODS[config.method](model, config, trees)


def search(model, source, max_length, config, prefix=None, indices=None, phrases=None, trees=None):
    """Searches for the best translations of each sentence.

    Inside `tf.function` or `jax.jit`, the search becomes part of the graph.

    Args:
        model: a `Transformer` or an `Ensemble`.
        source: ids `[sentences, source_length]`.
        max_length: maximum output length, including the end token. Each sentence also has its
            own limit: its source length plus `config.extra_length`.
        config: a `SearchConfig`.
        prefix: ids `[sentences, prefix_length]` that the outputs must begin with, padded at
            the end. None: no prefix.
        indices: index of each sentence, which selects its random numbers in sampling.
            None: 0, 1, 2, ….
        phrases: ids `[sentences, phrases, length]` that the outputs must contain, padded at the
            end; see `ConstrainedBeamSearch`. They raise the limit of their sentence, but not
            `max_length`. None: no phrases.
        trees: see `method_of`.

    Returns:
        `Hypotheses`, `config.n_best` for each sentence.
    """
    extras = {} if prefix is None else {"prefix": ops.convert_to_tensor(prefix, "int32")}
    method = method_of(model, config, trees)
    if phrases is not None:
        check(config.method == "beam", "method", config.method, "'beam' if phrases are required")
        allowed = "left out if phrases are required"
        check(not config.constrain, "constrain", config.constrain, allowed)
        method = ConstrainedBeamSearch(model, config)
        extras["phrases"] = ops.convert_to_tensor(phrases, "int32")
    if needs_draws(config):
        indices = range(source.shape[0]) if indices is None else indices
        extras["draws"] = ops.convert_to_tensor(draws_of(indices, max_length, config))
    state = method.start(source, max_length, max_length, extras)
    return method.hypotheses(advance(method, state, max_length))


def advance(method, state, until):
    """Steps until position `until`, or until all sentences are finished; returns the state."""
    import keras  # here, because the import takes more than a second

    flat = keras.tree.flatten(state)

    def packed(parts):
        return keras.tree.pack_sequence_as(state, list(parts))

    def continues(*parts):
        current = packed(parts)
        return (current.position < until) & ops.any(method.unfinished(current))

    def step(*parts):
        return tuple(keras.tree.flatten(method.step(packed(parts))))

    return packed(ops.while_loop(continues, step, tuple(flat)))
