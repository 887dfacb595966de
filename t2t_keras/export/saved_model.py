"""SavedModels for TensorFlow Serving, t2t-serve and other TensorFlow programs."""

import contextlib
import functools

import tensorflow as tf
from absl import logging

from t2t_keras.checks import check
from t2t_keras.decoding.search import method_of
from t2t_keras.export.batchable import write_batchable
from t2t_keras.export.compact_weights import CompactWeights
from t2t_keras.export.signature_constants import BATCH, OPTIONS, SMALL_BATCH
from t2t_keras.export.staged_search import staged_search
from t2t_keras.export.text_signatures import BATCHABLE, TEXTS, TextSignatures
from t2t_keras.export.translate_with_options import SPECS, TranslateWithOptions, default_options

INTEGERS = tf.TensorSpec([None], tf.int32)


def save_text_model(
    folder,
    model,
    config,
    source,
    target,
    split_sentences,
    dtype="float32",
    split=True,
    alignment=None,
    trees=None,
):
    """Writes a SavedModel that takes text, with the signatures of `TextSignatures`.

    It also has the signature of `TranslateWithOptions`.

    Args:
        folder: path of the new folder. It must not exist.
        model: a `SequenceModel` in float32. Without attention, or attention to the source, there
            are no signatures for it.
        config: a `SearchConfig`.
        source, target: the `Language`s.
        split_sentences: see `TranslateWithOptions`.
        dtype: type of the stored weights, one of `SAVED_MODEL_DTYPES`.
        split: whether the signature with options splits texts into sentences by default.
        alignment: see `TextSignatures`.
        trees: see `method_of`.
    """
    method = search_method(model, config, trees)
    signatures = TextSignatures(model, method, source, target, alignment=alignment)
    weights = CompactWeights(model, dtype)
    endpoints = search_endpoints(weights.used_by(signatures.translate_n_best), TEXTS)
    functions = [signatures.score, signatures.score_pieces]
    if any(model.config.attention_layers):
        functions.append(signatures.attention)
    if model.config.attention_layers[2]:
        functions.append(signatures.align)
    for function in functions:
        endpoints[function.__name__] = graph(weights.used_by(function), TEXTS, TEXTS)
    with_options = weights.used_by(TranslateWithOptions(signatures, split_sentences).__call__)
    endpoints[OPTIONS] = graph_with_defaults(with_options, config, split)
    small_batch = weights.used_by(signatures.translate_small_batch)
    endpoints[SMALL_BATCH] = graph(small_batch, TEXTS, INTEGERS)
    batch = weights.used_by(signatures.translate_batch)
    endpoints[BATCH] = graph(batch, TEXTS, INTEGERS, INTEGERS)
    write(folder, endpoints, source.tokenizer, target.tokenizer)
    write_batchable(folder, (*BATCHABLE, OPTIONS))


def save_ids_model(folder, model, config, dtype="float32", trees=None):
    """Writes a SavedModel that takes ids, for servers without the operations of tensorflow_text.

    `serving_default` takes `source` [batch, length]: in each row the tokens, the end (2), then
    padding (0). It returns `ids` [batch, length] in the same form and `scores` [batch].
    `translate_n_best` returns `ids` [batch, n, length] and `scores` [batch, n]. The length of the
    answer depends on the whole batch, so no signature is batchable.

    Args:
        folder, model, config, dtype, trees: see `save_text_model`.
    """
    method = search_method(model, config, trees)

    def translate_n_best(source):
        ids, scores = staged_search(method, source, model.longest)
        return {"ids": ids, "scores": tf.maximum(scores, scores.dtype.min)}

    with_weights = CompactWeights(model, dtype).used_by(translate_n_best)
    write(folder, search_endpoints(with_weights, tf.TensorSpec([None, None], tf.int32)))
    write_batchable(folder, [])


def search_method(model, config, trees):
    allowed = "'beam': a SavedModel cannot sample"
    check(config.method == "beam", "method", config.method, allowed)
    dtype, allowed = model.dtype_policy.name, "float32: see `CompactWeights` for smaller weights"
    check(dtype == "float32", "model.dtype_policy", dtype, allowed)
    return method_of(model, config, trees)


def search_endpoints(translate_n_best, signature):
    """Returns the two signatures that search. They share one graph of the search."""
    search = graph(translate_n_best, signature)

    @functools.wraps(translate_n_best)
    def best(inputs):
        return {name: array[:, 0] for name, array in search(inputs).items()}

    return {"serving_default": graph(best, signature), "translate_n_best": search}


def graph(function, *signature):
    return tf.function(function, input_signature=signature, autograph=False)


def graph_with_defaults(function, config, split):
    """Returns the graph of the signature with options, whose defaults the signature states.

    Args:
        function: a `TranslateWithOptions`.
        config, split: see `default_options`.
    """
    traced_once = graph(function, *SPECS)
    split, prefix, require, beam, n_best, alpha = default_options(config, split)

    # TensorFlow reads the defaults from the parameters.
    def with_defaults(
        text, split=split, prefix=prefix, require=require, beam=beam, n_best=n_best, alpha=alpha
    ):
        return traced_once(text, split, prefix, require, beam, n_best, alpha)

    return graph(with_defaults, *SPECS)


def write(folder, endpoints, *tracked):
    """Writes the graphs as signatures, not also as functions: they would be traced again.

    Args:
        folder: path of the new folder.
        endpoints: functions of `graph`, by name.
        *tracked: further objects with variables or tables that the graphs use.
    """
    # TensorFlow finds the defaults of a function, but not of its graph. It traces the function
    # itself, so a graph made here would only cost time.
    functions = {name: endpoints[name] for name in (OPTIONS,) if name in endpoints}
    graphs = {
        name: endpoint.get_concrete_function()
        for name, endpoint in endpoints.items()
        if name not in functions
    }
    root = tf.Module()
    root.used = [*tracked, *(graph.variables for graph in graphs.values())]
    signatures = graphs | functions
    try:
        with quiet():
            tf.saved_model.save(root, str(folder), signatures=signatures)
    except tf.errors.OpError as error:  # such as no space left
        raise OSError(f"{folder} could not be written: {error.message}") from error


@contextlib.contextmanager
def quiet():
    """Hides TensorFlow's log lines about generated names, each thousands of characters long."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
