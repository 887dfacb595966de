"""The arguments of custom gradients, which depend on the backend."""


def upstream_gradient(args, upstream):
    """Returns the gradient by the output of a function decorated with `ops.custom_gradient`.

    TensorFlow and JAX call `gradient(upstream)`, PyTorch `gradient(*inputs, upstream=upstream)`. So
    each of our gradients has the parameters `*args, upstream=None`.
    """
    return args[0] if upstream is None else upstream
