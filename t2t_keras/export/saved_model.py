"""SavedModels: what TensorFlow Serving, or a program that has only TensorFlow, loads."""

import contextlib
import functools

import keras
import tensorflow as tf
from absl import logging

from t2t_keras.checks import check
from t2t_keras.decoding.search import method_of
from t2t_keras.export.compact_weights import CompactWeights
from t2t_keras.export.staged_search import staged_search
from t2t_keras.export.text_signatures import TEXTS, TextSignatures


def save_text_model(folder, model, config, tokenizer, pieces, begins_word, weights="float32"):
    """Writes a SavedModel that takes text; `TextSignatures` says what it answers.

    Args:
        folder: where to. It must not be there.
        model: a `Transformer` in float32.
        config: a `SearchConfig`.
        tokenizer, pieces, begins_word: as of `TextSignatures`.
        weights: how they are stored; one of `compact_weights.KINDS`.
    """
    signatures = TextSignatures(model, searched_by(model, config), tokenizer, pieces, begins_word)
    weights = CompactWeights(model, weights)
    endpoints = translations(weights.used_by(signatures.translate_n_best), TEXTS)
    for function in (signatures.score, signatures.attention):
        endpoints[function.__name__] = graph(weights.used_by(function), TEXTS, TEXTS)
    write(folder, endpoints, tokenizer)


def save_ids_model(folder, model, config, weights="float32"):
    """Writes a SavedModel that takes ids, for servers without tensorflow_text's operations.

    `source` [batch, length], each row its tokens, 2 for the end, and 0s behind, gives `ids`
    [batch, length] in the same form and `scores` [batch]; `translate_n_best` gives [batch, n, …].
    Arguments as of `save_text_model`.
    """
    method = searched_by(model, config)

    def translate_n_best(source):
        ids, scores = staged_search(method, source, model.longest)
        return {"ids": ids, "scores": tf.maximum(scores, scores.dtype.min)}

    used = CompactWeights(model, weights).used_by(translate_n_best)
    write(folder, translations(used, tf.TensorSpec([None, None], tf.int32)))


def searched_by(model, config):
    check(config.method == "beam", "method", config.method, "'beam': a SavedModel draws nothing")
    return method_of(model, config)


def translations(translate_n_best, signature):
    """The two endpoints that search, by name; the search stands in the SavedModel once."""
    search = graph(translate_n_best, signature)

    @functools.wraps(translate_n_best)
    def best(inputs):
        return {name: found[:, 0] for name, found in search(inputs).items()}

    return {"serving_default": graph(best, signature), "translate_n_best": search}


def graph(function, *signature):
    return tf.function(function, input_signature=signature, autograph=False)


def write(folder, endpoints, *tracked):
    archive = keras.export.ExportArchive()
    for resource in tracked:
        archive.track(resource)
    for name, endpoint in endpoints.items():
        endpoint.get_concrete_function()
        archive.add_endpoint(name, endpoint)
    with quiet():
        archive.write_out(str(folder), verbose=False)


@contextlib.contextmanager
def quiet():
    """Without TensorFlow's lines about names that it makes up, thousands of characters long."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
