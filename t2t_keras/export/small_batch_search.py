"""The search for a small batch as one TensorFlow graph that XLA compiles for each shape."""

import tensorflow as tf
from keras import ops

from t2t_keras.decoding.compiled_shapes import ROOM
from t2t_keras.decoding.search import advance


def small_batch_search(method, longest=None):
    """Returns a function from source ids to hypotheses, which XLA compiles for each shape.

    XLA needs arrays of fixed length, and room for the longest possible output would slow down every
    step. So there is room for an output that is a little longer than the source. A batch with a
    longer output must be searched again, with `staged_search`.

    Args:
        method: a search, from `method_of`.
        longest: maximum output length, including the end. None: no maximum.

    Returns:
        A function that returns tokens, scores, and whether all sentences are finished.
    """
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(jit_compile=True, autograph=False, input_signature=[ids])
    def search(source):
        room = ops.shape(source)[1] + ROOM
        room = room if longest is None else ops.minimum(room, longest)
        state = advance(method, method.start(source, room, longest), room)
        finished = ~ops.any(method.unfinished(state))
        return *method.hypotheses(state), finished

    return search
