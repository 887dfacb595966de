"""The search in stages. Finished sentences leave the batch at the end of each stage."""

import tensorflow as tf

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.decoding.search import advance

STAGE = 16  # length of a stage, in tokens


def search_in_stages(method, source, longest=None, extras=None):
    """Returns the same hypotheses as `search`, computed in stages of a few tokens.

    After each stage, finished sentences leave the batch, and the caches of the others get room
    for the next stage. So a sentence costs nothing once it has ended, and no array is longer
    than the current stage needs. For the arguments, see `method_of` and the search's `start`.
    """
    state = method.start(source, min(STAGE, longest or STAGE), longest, extras)
    sentences = tf.shape(state.limits)[0]
    most = tf.reduce_max(tf.concat([state.limits, [0]], axis=0))
    shape = (sentences, method.hypotheses(state).scores.shape[1])
    results = Hypotheses(tf.zeros([*shape, most], tf.int32), tf.zeros(shape))

    def stage(rows, until, state, results):
        state = advance(method, state, until)
        rows, state, results = without_finished(method, rows, state, results)
        until += STAGE
        return rows, until, method.with_room(state, until), results

    loop = (tf.range(sentences), tf.constant(STAGE), state, results)
    *_, results = tf.while_loop(
        lambda rows, *_: tf.size(rows) > 0,
        stage,
        loop,
        shape_invariants=tf.nest.map_structure(any_length, loop),
    )
    return results


def without_finished(method, rows, state, results):
    """Moves finished sentences from a state to their rows in the results.

    Returns the rows and the state of the unfinished sentences, and the results.
    """
    unfinished = method.unfinished(state)
    ended, going = (tf.where(mask)[:, 0] for mask in (~unfinished, unfinished))
    tokens, scores = method.hypotheses(of_sentences(state, ended))
    longest = tf.shape(results.tokens)[2]
    tokens = tokens[..., :longest]
    tokens = tf.pad(tokens, [(0, 0), (0, 0), (0, longest - tf.shape(tokens)[2])])
    ended_rows = tf.gather(rows, ended)[:, None]
    results = Hypotheses(
        tf.tensor_scatter_nd_update(results.tokens, ended_rows, tokens),
        tf.tensor_scatter_nd_update(results.scores, ended_rows, scores),
    )
    return tf.gather(rows, going), of_sentences(state, going), results


def of_sentences(state, rows):
    """Returns a state with only the given sentences."""
    gathered = tf.nest.map_structure(
        lambda array: tf.gather(array, rows), state._replace(position=())
    )
    return gathered._replace(position=state.position)


def any_length(tensor):
    """Returns a tensor's shape with unknown numbers of sentences and tokens."""
    shape = tensor.shape.as_list()
    if shape:
        shape[0] = None
    if len(shape) > 2:
        shape[2] = None
    return tf.TensorShape(shape)
