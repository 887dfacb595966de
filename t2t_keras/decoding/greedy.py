"""Greedy decoding: at every step the likeliest token."""

from keras import ops

from t2t_keras.decoding.hypotheses import BEGIN, END, Hypotheses, limits_of, penalty


def greedy(model, source, max_length, config):
    """Decodes each sentence until it ends or reaches its limit.

    Args: as of `beam_search`; of `config` only α and `extra_length`.

    Returns:
        `Hypotheses`, one a sentence.
    """
    limits = limits_of(source, max_length, config)
    memory, cache = model.start_decoding(source, max_length)
    rows = ops.shape(source)[0]

    def more(position, last, open_ones, tokens, log_p, cache):
        return ops.any(open_ones)

    def step(position, last, open_ones, tokens, log_p, cache):
        logits, cache = model.decode_step(last, position, cache, memory)
        chosen = ops.where(open_ones, ops.cast(ops.argmax(logits, axis=-1), "int32"), 0)
        gained = ops.max(logits, axis=-1) - ops.logsumexp(logits, axis=-1)
        log_p = log_p + ops.where(open_ones, gained, 0.0)
        tokens = ops.where(ops.arange(max_length) == position, chosen[:, None], tokens)
        position = position + 1
        return (
            position,
            chosen,
            open_ones & (chosen != END) & (position < limits),
            tokens,
            log_p,
            cache,
        )

    start = (
        ops.convert_to_tensor(0, "int32"),
        ops.full((rows,), BEGIN, "int32"),
        limits > 0,
        ops.zeros((rows, max_length), "int32"),
        ops.zeros((rows,)),
        cache,
    )
    _, _, _, tokens, log_p, _ = ops.while_loop(more, step, start)
    lengths = ops.sum(ops.cast(tokens > 0, "int32"), axis=1)
    return Hypotheses(tokens[:, None], (log_p / penalty(lengths, config.alpha))[:, None])
