"""The search in stages, as one TensorFlow graph for batches of any shape."""

import tensorflow as tf

from t2t_keras.decoding.hypotheses import Hypotheses
from t2t_keras.decoding.search import advance

STAGE = 16  # tokens


def staged_search(method, source, longest=None, extras=None):
    """Returns the same hypotheses as `search`, computed in stages of a few tokens.

    After each stage, finished sentences leave the batch, and the caches of the others get room
    for the next stage. So a sentence costs nothing once it has ended, and no array is longer
    than the current stage needs.

    Args:
        method: a search, from `method_of`.
        source, longest, extras: see the `start` method of the search.

    Returns:
        The `Hypotheses` of each sentence.
    """
    state = method.start(source, min(STAGE, longest or STAGE), longest, extras)
    sentences = tf.shape(source)[0]
    longest = tf.reduce_max(tf.concat([state.limits, [0]], axis=0))
    room = (longest + STAGE - 1) // STAGE * STAGE
    shape = (sentences, method.config.n_best)
    results = Hypotheses(tf.zeros([*shape, room], tf.int32), tf.zeros(shape))

    def stage(rows, until, state, results):
        state = advance(method, state, until)
        unfinished = method.unfinished(state)
        ended, going = (tf.where(mask)[:, 0] for mask in (~unfinished, unfinished))
        tokens, scores = method.hypotheses(of_sentences(state, ended))
        tokens = tf.pad(tokens, [(0, 0), (0, 0), (0, room - tf.shape(tokens)[2])])
        ended_rows = tf.gather(rows, ended)[:, None]
        results = Hypotheses(
            tf.tensor_scatter_nd_update(results.tokens, ended_rows, tokens),
            tf.tensor_scatter_nd_update(results.scores, ended_rows, scores),
        )
        until += STAGE
        state = method.with_room(of_sentences(state, going), until)
        return tf.gather(rows, going), until, state, results

    loop = (tf.range(sentences), tf.constant(STAGE), state, results)
    *_, results = tf.while_loop(
        lambda rows, *_: tf.size(rows) > 0,
        stage,
        loop,
        shape_invariants=tf.nest.map_structure(any_length, loop),
    )
    return results._replace(tokens=results.tokens[..., :longest])


def of_sentences(state, rows):
    """Returns a state with only the given sentences."""
    arrays = state._replace(position=())
    gathered = tf.nest.map_structure(lambda x: tf.gather(x, rows), arrays)
    return gathered._replace(position=state.position)


def any_length(tensor):
    """Returns a tensor's shape with unknown numbers of sentences and tokens."""
    shape = tensor.shape.as_list()
    if shape:
        shape[0] = None
    if len(shape) > 2:
        shape[2] = None
    return tf.TensorShape(shape)
