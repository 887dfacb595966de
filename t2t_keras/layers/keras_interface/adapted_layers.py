"""Changes of inner layers, as part of the config of the layer around them.

`model.quantize("int8")` and `dense.enable_lora(4)` change `Dense` layers inside our layers, and
`trainable = False` any of them. A layer's config has only its own arguments. So without this
module, Keras would load the weights of the changed layers into unchanged ones, which fails, and
train layers that were frozen.
"""

import contextlib
import gc

import keras

from t2t_keras.checks import check


class AdaptedLayers:
    """Mixin of layers that make their inner layers themselves; it comes before Keras' class.

    The config gets an entry "adapted" if inner layers are frozen, are quantized or have LoRA: their
    indices in the flat list of all inner layers, with the arguments of `quantize` and
    `enable_lora`.
    """

    def get_config(self):
        adapted = adaptations(self)
        return {**super().get_config(), **({"adapted": adapted} if adapted else {})}

    @classmethod
    def from_config(cls, config):
        arguments = {name: value for name, value in config.items() if name != "adapted"}
        layer = super().from_config(arguments)
        adapt(layer, config.get("adapted", ()))
        return layer


def inner_layers(layer):
    """Returns the layers inside a layer, at any depth; a layer comes before those inside it."""
    return layer._flatten_layers(include_self=False)  # as the guide of `DTypePolicyMap` does


def adaptations(layer):
    """Returns a serializable dict for each inner layer that is frozen, quantized or has LoRA."""
    found = []
    for index, inner in enumerate(inner_layers(layer)):
        facts = {}
        if inner.quantization_mode is not None and inner.weights:
            config = keras.saving.serialize_keras_object(inner.quantization_config)
            facts["quantization"] = {"mode": inner.quantization_mode, "config": config}
        if getattr(inner, "lora_enabled", False):
            facts["lora"] = {"rank": inner.lora_rank, "lora_alpha": inner.lora_alpha}
        if not inner.trainable:
            facts["trainable"] = False
        if facts:
            found.append({"layer": index, **facts})
    return found


def refuse_quantized(model, use):
    """Raises `ValueError` for a model with quantized layers, whose kernels are not the weights."""
    modes = {layer.quantization_mode for layer in inner_layers(model)} - {None}
    if modes:
        raise ValueError(
            f"{use} needs a model with weights in floats, and quantizes it itself if asked to. "
            f"Received: a model after quantize({modes.pop()!r})"
        )


def adapt(layer, adapted):
    """Changes the inner layers of a new layer as the result of `adaptations` says.

    Keras builds a new layer after this call, unless its class has built it already. In both cases,
    the values of the weights are loaded later.
    """
    layers = list(inner_layers(layer))
    frozen = {facts["layer"] for facts in adapted if not facts.get("trainable", True)}
    for index, inner in enumerate(layers if frozen else ()):
        # Also sets `trainable` of the layers inside it, which follow.
        inner.trainable = index not in frozen
    with quick_collections() if adapted else contextlib.nullcontext():
        for facts in adapted:
            index = facts["layer"]
            check(index < len(layers), "layer", index, f"one of the {len(layers)} inner layers")
            inner = layers[index]
            # The sub-layer of a `Residual` has been adapted already, by its own config.
            quantization, lora = facts.get("quantization"), facts.get("lora")
            if quantization and inner.quantization_mode is None:
                quantize(inner, **keras.saving.deserialize_keras_object(quantization))
            if lora and not inner.lora_enabled:
                enable_lora(inner, **lora)


@contextlib.contextmanager
def quick_collections():
    """Exempts existing objects from garbage collection in the block.

    Keras collects garbage after each variable that it replaces. With TensorFlow loaded, every
    collection takes a fifth of a second, half a minute for the layers of a small model.
    """
    if gc.get_freeze_count():  # the program has its own exempt objects
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def quantize(layer, mode, config):
    if layer.built:
        layer.quantize(mode, config=config)
        return
    layer.quantization_config = config
    block_size = getattr(config, "block_size", None)
    mode = f"int4/{block_size or -1}" if mode == "int4" else mode
    layer.dtype_policy = f"{mode}_from_{layer.dtype_policy.name}"


def enable_lora(layer, rank, lora_alpha):
    if layer.built:
        layer.enable_lora(rank, lora_alpha)
    else:
        layer.lora_rank, layer.lora_alpha = rank, lora_alpha
