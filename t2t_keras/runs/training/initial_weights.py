"""Starts training from another run's weights, with the same or a different vocabulary."""

import dataclasses

import numpy as np

from pipelines.special_ids import BEGIN, SPECIAL_PIECES, UNKNOWN
from t2t_keras.decoding.search_config import SearchConfig

# Settings of a model that do not change its weights.
RATES = ("dropout", "attention_dropout")
SIDES = ("source", "target")
EMBEDDINGS = ("embedding", "source_embedding", "output_embedding")


def inherit_settings(experiment, known, given, same_vocabulary=True):
    """Gives an experiment the model and the search of a run, in place.

    Args:
        experiment: the `Experiment` to change. It keeps its dropout rates, and search settings that
            differ from the defaults.
        known: the `Experiment` of the run.
        given: names, such as "search.beam", of settings that are kept even with default values.
        same_vocabulary: whether ids have the same meaning. If not, only special ids are inherited.
    """
    rates = {
        name: getattr(experiment.model, name)
        for name in RATES
        if hasattr(experiment.model, name) and hasattr(known.model, name)
    }
    experiment.model = dataclasses.replace(known.model, **rates)
    search, defaults = dataclasses.asdict(known.search), dataclasses.asdict(SearchConfig())
    if not same_vocabulary:
        special = range(len(SPECIAL_PIECES))
        search |= {"banned": tuple(id for id in search["banned"] if id in special), "first": ()}
    search |= {
        name: value
        for name, value in dataclasses.asdict(experiment.search).items()
        if value != defaults[name] or f"search.{name}" in given
    }
    experiment.search = SearchConfig(**search)


def initialize(model, initial, tokenizer):
    """Assigns a run's weights to a model.

    A piece in both vocabularies keeps its row in the embeddings. A new piece gets the mean of the
    rows of the pieces into which the run's vocabulary splits it.

    Args:
        model: a model with the settings of `inherit_settings`.
        initial: the `Run`.
        tokenizer: the tokenizer of the new training.
    """
    trained, known = initial.loaded(None), initial.vocabulary()
    theirs = {path_of(weight): weight for weight in trained.weights}
    rows = {side: origins(getattr(tokenizer, side), getattr(known, side)) for side in SIDES}
    for weight in model.weights:
        path = path_of(weight)
        part, _, name = path.partition("/")
        if part in EMBEDDINGS:
            side = "source" if part == "source_embedding" else "target"
            array = getattr(getattr(trained, part), name).numpy()
            weight.assign(means(array, rows[side]))
        elif "seed" not in path:
            weight.assign(theirs[path].numpy())


def origins(new, known):
    """Returns, for each id of a new vocabulary, the known ids whose rows are averaged for it."""
    if new.files() == known.files():
        return [[id] for id in range(known.size)]
    ids = {piece: id for id, piece in enumerate(known.pieces(range(known.size)))}
    special = len(SPECIAL_PIECES)
    pieces = new.pieces(range(new.size))
    texts = new.decode([[id] for id in range(new.size)])
    result = [[id] for id in range(special)]
    split = [ids[ids != BEGIN] for ids in known.encode(texts)]  # without the begin id of sources
    for piece, made_of in zip(pieces[special:], split[special:], strict=True):
        result.append([ids[piece]] if piece in ids else made_of.tolist() or [UNKNOWN])
    return result


def means(array, rows):
    """Returns the mean of the rows of an array for each list of row indices."""
    lengths = np.array([len(indices) for indices in rows])
    starts = np.cumsum(lengths) - lengths
    sums = np.add.reduceat(array[np.concatenate(rows)], starts, axis=0)
    return sums / lengths.reshape(-1, *[1] * (array.ndim - 1)).astype(array.dtype)


def path_of(weight):
    return weight.path.split("/", 1)[1]
