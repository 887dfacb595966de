"""Writes folders for CTranslate2 (https://opennmt.net/CTranslate2), which is fast on CPUs.

Using such a folder requires neither this package nor TensorFlow. For the differences between
CTranslate2's search and ours, see `export/how_to_match_ctranslate2.md`.
"""

from pathlib import Path

import numpy as np
from keras import ops

from t2t_keras.checks import check, check_choice
from t2t_keras.decoding.alignment import AlignmentHead
from t2t_keras.decoding.rows import BEGIN, END, PADDING
from t2t_keras.export.ctranslate2_package import POSITIONS, UNKNOWN, import_ctranslate2
from t2t_keras.export.formats import CTRANSLATE2_DTYPES
from t2t_keras.layers.decoder import DecoderBlock
from t2t_keras.layers.encoder import EncoderBlock
from t2t_keras.layers.keras_interface.adapted_layers import refuse_quantized
from t2t_keras.layers.positional_encoding import LearnedPositionalEncoding
from t2t_keras.transformer_config import TransformerConfig

ACTIVATIONS = {
    "relu": "RELU",
    "swish": "SWISH",
    "gelu": "GELU",
    "gelu_tanh": "GELUTanh",
    "gelu_sigmoid": "GELUSigmoid",
}
# {setting of a model: the values that CTranslate2 computes}
COMPUTED = {
    "activation": (*ACTIVATIONS,),
    "positions": ("sinusoidal", "concatenated", "hugging_face", "learned"),  # tables of vectors
    "attention": ("scaled",),
    **dict.fromkeys(("residual", "layer_norm"), (True,)),
    **dict.fromkeys(("neighbourhood", "decoder_neighbourhood"), (None,)),
}
NEVER = -1e4  # logit bias that prevents an id from being written; fits in float16


def save_ctranslate2(
    model,
    pieces,
    folder,
    quantization="float32",
    source_pieces=None,
    source_begin=False,
    alignment=None,
):
    """Writes the files of a `Transformer` for `ctranslate2.Translator`.

    Args:
        pieces: the text of each id, in the order of the ids.
        quantization: type of the stored weights, one of `CTRANSLATE2_DTYPES`. If a processor cannot
            compute in that type, CTranslate2 converts the weights on loading.
        source_pieces: the text of each source id. None: equal to `pieces`.
        source_begin: whether a source begins with the begin token.
        alignment: the `AlignmentHead` for CTranslate2's `return_attention`, which does not support
            shifted heads. None: the default head.
    """
    ctranslate2 = import_ctranslate2("Exporting for CTranslate2")
    refuse_quantized(model, "An export for CTranslate2")
    check_choice("quantization", quantization, CTRANSLATE2_DTYPES)
    spec = specification(ctranslate2.specs, model, alignment or AlignmentHead())
    register_vocabularies(spec, model.config, pieces, source_pieces or pieces, source_begin)
    spec.validate()
    if quantization == "bfloat16":  # CTranslate2's own rounding to bfloat16 needs PyTorch
        round_to_bfloat16(spec)
    spec.optimize(quantization=quantization)
    Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def specification(specs, model, alignment):
    """Returns the specification of a model, given the module `ctranslate2.specs`."""
    config = model.config
    # A model of a plug-in file may compute something else, even if it derives from `Transformer`.
    for part_of, known in (
        (lambda: config, TransformerConfig),
        (lambda: model.encoder.blocks[0], EncoderBlock),
        (lambda: model.decoder.blocks[0], DecoderBlock),
    ):
        allowed = f"one with a {known.__name__}: CTranslate2 has no other models"
        check(type(part := part_of()) is known, "model", type(part).__name__, allowed)
    for name, choices in COMPUTED.items():
        value, allowed = getattr(config, name), " or ".join(map(repr, choices))
        check(value in choices, name, value, f"{allowed} in a model for CTranslate2")
    alignment.check(config.attention_layers[2], config.num_heads)
    alignment_layer = alignment.layer_of(config.decoder_layers)
    spec = specs.TransformerSpec.from_config(
        config.layers,
        config.num_heads,
        pre_norm=config.pre_norm,
        activation=specs.Activation[ACTIVATIONS[config.activation]],
        # `return_attention` returns the mean of a layer's first heads.
        alignment_layer=alignment_layer,
        alignment_heads=config.num_heads if alignment.head is None else 1,
    )
    spec.config.layer_norm_epsilon = config.norm_epsilon
    encoder, decoder = spec.encoder, spec.decoder
    matrices = {}  # a layer used twice must yield the same array, which is then stored once
    for part, layer in (
        (encoder.embeddings[0], model.source_embedding),
        (decoder.embeddings, model.embedding),
        (decoder.projection, model.output_embedding),
    ):
        part.weight = matrices.setdefault(id(layer), array(layer.matrix))
    if config.embedding_scale is not None:
        encoder.scale_embeddings = decoder.scale_embeddings = np.float32(config.embedding_scale)
    decoder.projection.bias = output_bias(model)
    encoder.position_encodings.encodings = positions(model.source_positions, config)
    decoder.position_encodings.encodings = positions(model.target_positions, config)
    for stack, stack_spec in ((model.encoder, encoder), (model.decoder, decoder)):
        if config.pre_norm:
            set_norm(stack_spec.layer_norm, stack.final_norm)
        for layer, block in enumerate(stack.blocks):
            block_spec, feed_forward = stack_spec.layer[layer], block.feed_forward.sublayer
            set_attention(block_spec.self_attention, block.self_attention)
            if stack is model.decoder:
                first = (layer == alignment_layer and alignment.head) or 0
                set_attention(block_spec.attention, block.cross_attention, first)
            set_norm(block_spec.ffn.layer_norm, block.feed_forward.norm)
            set_linear(block_spec.ffn.linear_0, *weights_of(feed_forward.inner))
            set_linear(block_spec.ffn.linear_1, *weights_of(feed_forward.outer))
    return spec


def output_bias(model):
    """Returns the bias on the logits, which prevents padding and begin tokens in the output."""
    bias = np.zeros(model.config.vocab_size, "float32")
    if model.output_embedding.bias is not None:
        bias = array(model.output_embedding.bias)
    bias[[PADDING, BEGIN]] = NEVER
    return bias


def positions(layer, config):
    """Returns the encodings of all positions: `[positions, d_model]`."""
    if isinstance(layer, LearnedPositionalEncoding):
        return array(layer.table)[layer.offset :]
    indices = ops.arange(POSITIONS, dtype="float32") + layer.offset
    return array(layer.encodings(indices, config.d_model))


def set_attention(spec, residual, first=0):
    """Sets the projections of a sub-layer, whose head `first` becomes the first one.

    If d_k and d_v differ, zeros pad the smaller one.
    """
    attention = residual.sublayer
    set_norm(spec.layer_norm, residual.norm)
    width = max(attention.d_k, attention.d_v)
    spec.queries_scale = attention.d_k**-0.5
    projections = [
        tuple(widened_heads(part, attention.num_heads, width, first) for part in weights_of(dense))
        for dense in (attention.query, attention.key, attention.value)
    ]
    # Self-attention has one matrix for query, key and value; cross-attention has two.
    groups = [projections] if len(spec.linear) == 2 else [projections[:1], projections[1:]]
    for linear, parts in zip(spec.linear, groups, strict=False):
        kernels, *biases = zip(*parts, strict=True)
        set_linear(linear, *(np.concatenate(each, axis=-1) for each in (kernels, *biases)))
    kernel, *bias = weights_of(attention.output_projection)
    kernel = widened_heads(kernel.T, attention.num_heads, width, first).T
    set_linear(spec.linear[-1], kernel, *bias)


def widened_heads(x, heads, width, first):
    """Appends zeros to each head: `[..., heads · d]` → `[..., heads · width]`.

    The head `first` and head 0 are swapped.
    """
    split = x.reshape(*x.shape[:-1], heads, -1)
    order = np.arange(heads)
    order[[0, first]] = order[[first, 0]]
    split = split[..., order, :]
    widths = [(0, 0)] * (split.ndim - 1) + [(0, width - split.shape[-1])]
    return np.pad(split, widths).reshape(*x.shape[:-1], heads * width)


def set_norm(spec, norm):
    spec.gamma, spec.beta = array(norm.gamma), array(norm.beta)


def set_linear(spec, kernel, bias=None):
    spec.weight = np.ascontiguousarray(kernel.T)
    if bias is not None:
        spec.bias = bias


def weights_of(dense):
    """Returns the kernel of a dense layer, and its bias if it has one."""
    return [array(weight) for weight in dense.weights]


def array(x):
    return np.array(ops.convert_to_numpy(ops.cast(x, "float32")))


def register_vocabularies(spec, config, pieces, source_pieces, source_begin):
    """Sets the text of each id and the special tokens."""
    for id in (BEGIN, END, UNKNOWN) if source_begin else (END, UNKNOWN):
        # CTranslate2 has one name for both sides.
        allowed = f"{pieces[id]!r}, as in `pieces`"
        check(source_pieces[id] == pieces[id], f"source_pieces[{id}]", source_pieces[id], allowed)
    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BEGIN]
    spec.config.eos_token = pieces[END]
    spec.config.unk_token = pieces[UNKNOWN]
    spec.config.add_source_bos = source_begin
    spec.config.add_source_eos = config.source_end


def round_to_bfloat16(spec):
    bfloat16 = ops.convert_to_numpy(ops.zeros(0, "bfloat16")).dtype
    for variable in spec.variables().values():
        if not variable.is_scalar():
            variable.array = variable.array.astype(bfloat16)
