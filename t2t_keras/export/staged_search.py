"""A search as a TensorFlow graph for all shapes of batches; what has ended costs nothing."""

import tensorflow as tf

from t2t_keras.decoding.hypotheses import Hypotheses
from t2t_keras.decoding.search import advance

STAGE = 16  # tokens


def staged_search(method, source, longest=None, extras=None):
    """Finds what `search` finds.

    It stops every few tokens. Then the sentences that are finished leave, and the others get room
    for the next ones: nothing is computed for a sentence that has ended, nor for positions that
    are far ahead.

    Args:
        method: from `method_of`.
        source, longest, extras: as of its `start`.

    Returns:
        The `Hypotheses` of each sentence.
    """
    state = method.start(source, min(STAGE, longest or STAGE), longest, extras)
    sentences = tf.shape(source)[0]
    longest = tf.reduce_max(tf.concat([state.limits, [0]], axis=0))
    room = (longest + STAGE - 1) // STAGE * STAGE
    rows = (sentences, method.config.n_best)
    found = Hypotheses(tf.zeros([*rows, room], tf.int32), tf.zeros(rows))

    def stage(rows, until, state, found):
        state = advance(method, state, until)
        going = method.unfinished(state)
        ended, going = (tf.where(which)[:, 0] for which in (~going, going))
        tokens, scores = method.hypotheses(of_sentences(state, ended))
        tokens = tf.pad(tokens, [(0, 0), (0, 0), (0, room - tf.shape(tokens)[2])])
        here = tf.gather(rows, ended)[:, None]
        found = Hypotheses(
            tf.tensor_scatter_nd_update(found.tokens, here, tokens),
            tf.tensor_scatter_nd_update(found.scores, here, scores),
        )
        until += STAGE
        state = method.with_room(of_sentences(state, going), until)
        return tf.gather(rows, going), until, state, found

    loop = (tf.range(sentences), tf.constant(STAGE), state, found)
    *_, found = tf.while_loop(
        lambda rows, *_: tf.size(rows) > 0,
        stage,
        loop,
        shape_invariants=tf.nest.map_structure(any_length, loop),
    )
    return found._replace(tokens=found.tokens[..., :longest])


def of_sentences(state, rows):
    """The state of these sentences alone."""
    arrays = state._replace(position=())
    chosen = tf.nest.map_structure(lambda x: tf.gather(x, rows), arrays)
    return chosen._replace(position=state.position)


def any_length(tensor):
    """The shape of a tensor with any number of sentences and of tokens."""
    shape = tensor.shape.as_list()
    if shape:
        shape[0] = None
    if len(shape) > 2:
        shape[2] = None
    return tf.TensorShape(shape)
