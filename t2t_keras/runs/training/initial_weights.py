"""Starts training from another run's weights, with the same or another vocabulary and depth."""

import dataclasses
import re

import numpy as np

from pipelines.special_ids import BEGIN, SPECIAL_PIECES, UNKNOWN
from t2t_keras.checks import check
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.transformer_config import TransformerConfig

# Settings of a model that do not change its weights.
RATES = ("dropout", "attention_dropout")
SIDES = ("source", "target")
EMBEDDINGS = ("embedding", "source_embedding", "output_embedding")
LAYER = re.compile(r"(encoder|decoder)/block_(\d+)(?=/)")
STACKS = ("encoder", "decoder")


def inherit_settings(experiment, known, given, same_vocabulary=True):
    """Gives an experiment the model and the search of a run, in place.

    Args:
        experiment: the `Experiment` to change. It keeps its dropout rates, search settings that
            differ from the defaults, and a model that is derived from the run's.
        known: the `Experiment` of the run.
        given: names, such as "search.beam", of settings that are kept even with default values.
        same_vocabulary: whether ids have the same meaning. If not, only special ids are inherited.
    """
    rates = {
        name: getattr(experiment.model, name)
        for name in RATES
        if hasattr(experiment.model, name) and hasattr(known.model, name)
    }
    ours, theirs = type(experiment.model), type(known.model)
    if issubclass(ours, theirs):  # it keeps what it adds to the run's model
        experiment.model = dataclasses.replace(experiment.model, **vars(known.model) | rates)
    else:
        allowed = f"left out, or derived from {theirs.__name__}, with this --init"
        check(ours is TransformerConfig, "config: model", ours.__name__, allowed)
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


def chosen_layers(training):
    """Returns {"encoder" or "decoder": indices} of the layers that `TrainingConfig` chooses."""
    chosen = {stack: getattr(training, f"init_{stack}_layers") for stack in STACKS}
    return {stack: layers for stack, layers in chosen.items() if layers}


def set_depth(experiment, known):
    """Gives the model of an experiment the layers that are chosen from a run's settings."""
    chosen = chosen_layers(experiment.training)
    depths = dict(zip(STACKS, known.model.layers, strict=True))
    for stack, layers in chosen.items():
        name, count = f"training.init_{stack}_layers", depths[stack]
        kind = "empty, because only layers of a Transformer can be chosen"
        check(isinstance(known.model, TransformerConfig), name, layers, kind)
        allowed = f"indices from 0 to {count - 1} of the layers in --init, or -1 for a new layer"
        check(max(layers) < count, name, layers, allowed)
        depths[stack] = len(layers)
    if chosen:
        encoder, decoder = depths.values()
        depth = {"num_layers": encoder, "decoder_layers": None if decoder == encoder else decoder}
        experiment.model = dataclasses.replace(experiment.model, **depth)


def initialize(model, initial, tokenizer, layers=None):
    """Assigns the weights of a `Run`, the initial one, to a model.

    A piece in both vocabularies keeps its row in the embeddings. A new piece gets the mean of the
    rows of the pieces into which the run's vocabulary splits it. Other weights are taken if the
    run has weights of the same name and shape.

    Args:
        model: a model with the settings of `inherit_settings` and `set_depth`.
        tokenizer: the tokenizer of the new training.
        layers: see `chosen_layers`.

    Returns:
        Three lines: the parts that were taken from the run, those that were not, and new ones.
    """

    def in_run(match):
        stack, index = match[1], int(match[2])
        return f"{stack}/block_{layers[stack][index] if stack in (layers or {}) else index}"

    trained, known = initial.loaded(None), initial.vocabulary()
    theirs = {path_of(w): w for w in trained.weights if "seed" not in w.path}
    rows = {side: origins(getattr(tokenizer, side), getattr(known, side)) for side in SIDES}
    taken, new = set(), []
    for weight in model.weights:
        path = path_of(weight)
        source = LAYER.sub(in_run, path)
        part, _, name = path.partition("/")
        if part in EMBEDDINGS:
            side = "source" if part == "source_embedding" else "target"
            array = getattr(getattr(trained, part), name).numpy()
            weight.assign(means(array, rows[side]))
        elif source in theirs and theirs[source].shape == weight.shape:
            weight.assign(theirs[source].numpy())
            taken.add(source)
        elif "seed" not in path:
            new.append(path)
    left = [path for path in theirs if path not in taken]
    parts = [*map(parts_of, (taken, left, new))]
    separate = tokenizer.source is not tokenizer.target
    for side in SIDES if separate else SIDES[1:]:
        vocabularies = (getattr(tokenizer, side), getattr(known, side))
        ours, old = ({*each.pieces(range(len(SPECIAL_PIECES), each.size))} for each in vocabularies)
        kind = f"{side} pieces" if separate else "pieces"
        for part, pieces in zip(parts, (ours & old, old - ours, ours - old), strict=True):
            part += [f"{kind}: {len(pieces):,}"] * bool(pieces)
    texts = ("; ".join(part) or "nothing" for part in parts)
    names = f"Taken from {initial.folder}", "Not taken", "New"
    return [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]


def parts_of(paths):
    """Returns the names of the parts of a model that have these weights, without embeddings."""
    layers, others = {}, {}
    for path in paths:
        if match := LAYER.match(path):
            layers.setdefault(match[1], set()).add(int(match[2]))
        elif path.partition("/")[0] not in EMBEDDINGS:
            others[path.rpartition("/")[0] or path] = None
    numbers = {stack: ", ".join(map(str, sorted(each))) for stack, each in layers.items()}
    named = [f"{stack} layers {numbers[stack]}" for stack in STACKS if stack in numbers]
    return named + sorted(others)


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
