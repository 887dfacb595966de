"""Greedy decoding: at every step the likeliest token."""

from keras import ops

BEGIN, END = 1, 2


def greedy(model, source, max_length):
    """Decodes each sentence until it ends, or is `max_length` tokens long.

    Args:
        model: a `Transformer`.
        source: ids `[sentences, source_length]`.
        max_length: of the longest output.

    Returns:
        Ids `[sentences, max_length]`: the tokens, then end (2), then padding.
    """
    memory, cache = model.start_decoding(source, max_length)
    rows = ops.shape(source)[0]
    last = ops.full((rows,), BEGIN, "int32")
    finished = ops.zeros((rows,), "bool")
    written = ops.zeros((rows, max_length), "int32")

    def more(position, last, finished, written, cache):
        return ops.logical_and(position < max_length, ops.logical_not(ops.all(finished)))

    def step(position, last, finished, written, cache):
        logits, cache = model.decode_step(last, position, cache, memory)
        chosen = ops.cast(ops.argmax(logits, axis=-1), "int32")
        chosen = ops.where(finished, 0, chosen)
        written = ops.slice_update(written, (0, position), chosen[:, None])
        return position + 1, chosen, finished | (chosen == END), written, cache

    start = (ops.convert_to_tensor(0, "int32"), last, finished, written, cache)
    return ops.while_loop(more, step, start)[3]
