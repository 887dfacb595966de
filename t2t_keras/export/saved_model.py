"""SavedModels for TensorFlow Serving, t2t-serve and other TensorFlow programs."""

import functools
import inspect

import keras
import tensorflow as tf

from t2t_keras.checks import check_choice
from t2t_keras.decoding.search import method_of
from t2t_keras.export.formats import SAVED_MODEL_DTYPES
from t2t_keras.export.id_signatures import id_signatures
from t2t_keras.export.loading import save
from t2t_keras.export.search_in_stages import search_in_stages
from t2t_keras.export.signature_names import BEST, LISTS, OPTIONS, Ids
from t2t_keras.export.text_signatures import TEXTS, TextSignatures, default_options
from t2t_keras.layers.keras_interface.adapted_layers import refuse_quantized
from t2t_keras.quiet_loading import quiet_loading


def save_text_model(folder, model, config, source, target, dtype, alignment, trees, follows):
    """Writes a SavedModel with the signatures of `TextSignatures` and of `id_signatures`.

    Signatures for attention are left out if the model, which is in float32, has no attention, or no
    attention to the source. For `dtype`, see `SAVED_MODEL_DTYPES`.
    """
    used_by, _ = compact_weights(model, dtype)
    ids = id_signatures(model, config, used_by, trees, follows, alignment)
    signatures = TextSignatures(model, ids, config, source, target)
    endpoints = search_endpoints(signatures.translate, TEXTS)
    pairs = [signatures.score, signatures.score_pieces]
    if any(model.config.attention_layers):
        pairs.append(signatures.attention)
    if model.config.attention_layers[2]:
        pairs.append(signatures.align)
    for function in pairs:
        endpoints[function.__name__] = graph(function, TEXTS, TEXTS)
    if Ids.OPTIONS in ids:
        endpoints[OPTIONS] = graph_with_defaults(signatures, config)
    write(folder, endpoints | ids, source.tokenizer, target.tokenizer)


def save_ids_model(folder, model, config, dtype, trees):
    """Writes a SavedModel that takes ids, for servers without the operations of tensorflow_text.

    The signatures take `source` [batch, length]. Each row consists of the tokens, the end id (2)
    and padding (0). `serving_default` returns `ids` [batch, length] in the same form and `scores`
    [batch]. `LISTS` returns `ids` [batch, n, length] and `scores` [batch, n].
    """
    method = method_of(model, config, trees)

    def translate(source):
        ids, scores = search_in_stages(method, source, model.longest)
        return {"ids": ids, "scores": tf.maximum(scores, scores.dtype.min)}

    with_weights = compact_weights(model, dtype)[0](translate)
    write(folder, search_endpoints(with_weights, tf.TensorSpec([None, None], tf.int32)))


def compact_weights(model, dtype):
    """Stores the weights of a float32 model in one of `SAVED_MODEL_DTYPES`.

    For int8, Keras' quantization stores each matrix as integers with one scale per output (per
    token for the embedding). Vectors stay in float32, because they are small.

    Returns:
        A function that wraps another one so that it computes with the stored weights, and {index of
        a variable of the model: the `tf.Variable`s that store it}.
    """
    check_choice("dtype", dtype, SAVED_MODEL_DTYPES)
    stored, embeddings = {}, (model.embedding, model.source_embedding, model.output_embedding)
    if dtype != "float32":  # otherwise the model's own variables are stored
        refuse_quantized(model, f"A SavedModel in {dtype}")
        for index, variable in enumerate(model.variables):
            if len(variable.shape) < 2:
                continue
            if dtype == "bfloat16":
                parts = [keras.ops.cast(variable.value, "bfloat16")]
            else:
                axis = 1 if any(variable is each.matrix for each in embeddings) else 0
                parts = keras.quantizers.abs_max_quantize(variable.value, axis=axis)
            stored[index] = [tf.Variable(part, trainable=False) for part in parts]

    def used_by(function):
        @functools.wraps(function)
        def with_weights(*arguments):
            values = [(model.variables[index], restored(*stored[index])) for index in stored]
            with keras.StatelessScope(state_mapping=values):
                return function(*arguments)

        return with_weights

    return used_by, stored


def restored(values, scale=None):
    values = tf.cast(values, tf.float32)
    return values if scale is None else values / tf.cast(scale, tf.float32)


def search_endpoints(translate, signature):
    """Returns the two search signatures, which share one graph."""
    search = graph(translate, signature)

    @functools.wraps(translate)
    def best(inputs):
        return {name: array[:, 0] for name, array in search(inputs).items()}

    return {BEST: graph(best, signature), LISTS: search}


def graph(function, *signature):
    return tf.function(function, input_signature=signature, autograph=False)


def graph_with_defaults(signatures, config):
    """Returns the graph of the signature with options. The defaults are part of the signature."""
    defaults = default_options(config)
    specs = [tf.TensorSpec([None], each.dtype, name) for name, each in defaults.items()]

    def with_defaults(*inputs):
        return signatures.translate_with_options(*inputs)

    # TensorFlow reads the names and the defaults from the parameters.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("text", kind)]
    parameters += [inspect.Parameter(name, kind, default=defaults[name]) for name in defaults]
    with_defaults.__signature__ = inspect.Signature(parameters)
    return graph(with_defaults, tf.TensorSpec([None], tf.string, "text"), *specs)


def write(folder, endpoints, *tracked):
    """Saves only signatures, {name: result of `graph`}. Saving functions would trace them again.

    `tracked` are further objects with variables or tables that the graphs use.
    """
    # A `tf.function` has defaults for its inputs, but is traced when it is saved.
    graphs = {
        name: endpoint if name == OPTIONS else endpoint.get_concrete_function()
        for name, endpoint in endpoints.items()
    }
    root = tf.Module()
    root.used = [*tracked, *(each.variables for name, each in graphs.items() if name != OPTIONS)]
    with quiet_loading():
        save(root, folder, graphs)
