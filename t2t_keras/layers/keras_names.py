"""Lets `MultiHeadAttention` be called like `keras.layers.MultiHeadAttention`."""

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
