"""Lets `MultiHeadAttention` be called like `keras.layers.MultiHeadAttention`, and checks calls."""

from t2t_keras.checks import check_boolean

# {call argument of `keras.layers.MultiHeadAttention`: our name}
OUR_NAMES = {
    "query": "queries",
    "value": "memory",
    "query_mask": "queries_mask",
    "value_mask": "memory_mask",
    "return_attention_scores": "return_weights",
}


def in_our_names(args, kwargs):
    """Returns the arguments of a call under our names.

    A third array after a memory is `key`, as in Keras. If a sequence is its own memory, as in
    `attention(x, x)`, this is self-attention, and the memory is left out.
    """
    positional = ("queries", "memory")[: len(args)]
    for name in [name for name in OUR_NAMES if name in kwargs]:
        ours = OUR_NAMES[name]
        if ours in kwargs or ours in positional:
            raise ValueError(
                f"`{name}` is Keras' name for `{ours}`; give one of them. Received: both"
            )
        kwargs = {ours if key == name else key: value for key, value in kwargs.items()}
    if len(args) > 2 and args[1] is not None:
        if len(args) > 3 or "key" in kwargs:
            raise ValueError(
                "After queries, memory and key, arguments must have names. "
                f"Received: {len(args)} without a name"
            )
        args, kwargs = args[:2], {**kwargs, "key": args[2]}
    queries = args[0] if args else kwargs.get("queries")
    memory = args[1] if len(args) > 1 else kwargs.get("memory")
    if memory is None or memory is not queries or kwargs.get("key", memory) is not memory:
        return args, kwargs
    left_out = ("memory", "key", "memory_mask", "key_mask")
    masks = [kwargs[name] for name in ("mask", *left_out[2:]) if kwargs.get(name) is not None]
    if len(masks) > 1:
        raise ValueError(
            "In self-attention there is one mask of the keys; combine masks with `&`, or use "
            f"`attention_mask`. Received: {len(masks)} masks"
        )
    kwargs = {name: value for name, value in kwargs.items() if name not in left_out}
    return args[:1], {**kwargs, "mask": masks[0]} if masks else kwargs


def check_masks(memory, mask, memory_mask, step, cache):
    """Raises `ValueError` for call arguments that contradict each other or the settings."""
    if memory is not None and mask is not None:
        raise ValueError(
            "`mask` is for self-attention; over a memory use `memory_mask` or "
            "`attention_mask`. Received: a memory with a mask"
        )
    if memory is None and memory_mask is not None and step is None:
        raise ValueError("`memory_mask` requires a `memory`. Received: memory=None")
    if (step is None) != (cache is None):
        raise ValueError(
            "`step` and `cache` must be given together. "
            f"Received: {'step' if cache is None else 'cache'} alone"
        )


def check_keras_arguments(memory, key, attention_mask, use_causal_mask, step):
    """Raises `ValueError` for arguments of Keras' signature that would not be obeyed."""
    check_boolean("use_causal_mask", use_causal_mask)
    if step is not None and (attention_mask is not None or key is not None or use_causal_mask):
        raise ValueError(
            "A decoding step has no `attention_mask`, `key` or `use_causal_mask`; set "
            "`causal` when the layer is created. Received: a step with one of them"
        )
    if key is None:
        return
    if memory is None:
        raise ValueError("`key` requires a `memory`, for the values. Received: a key alone")
    if None not in (key.shape[1], memory.shape[1]) and key.shape[1] != memory.shape[1]:
        raise ValueError(
            "`key` must be as long as `memory`. "
            f"Received: {key.shape[1]} and {memory.shape[1]} positions"
        )
