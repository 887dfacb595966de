"""A folder for CTranslate2 (https://opennmt.net/CTranslate2), which translates fast on CPUs.

It needs neither this package nor TensorFlow. How its search differs from ours:

- **Pieces** go in and come out. The end of a source is added there: none is to be given.
- **Padding and begin** are never written by either. Our log P is that of the model; theirs that of
  the model that cannot write them, so the others have their share of the probability.
- **An empty translation** is possible here, there only with `min_decoding_length=0`.
- **The length penalty.** Ours is log P / ((5 + length) / 6)^α with the end in the length; theirs is
  log P / length^β, β being `length_penalty`, without it (but with it if `return_end_token=True`).
  Without a penalty, α = β = 0, both find the same: they pursue the same hypotheses, and neither
  stops before nothing better can come. For a translation of n tokens, β = α · n / (n + 5) weighs
  one token more or less as α does.
- **When to stop.** With β > 0 they stop at `beam_size · patience` finished hypotheses, whatever may
  come; ours when nothing better can come.
- **Limits.** Ours is the source's length and `extra_length`, for each sentence; theirs is
  `max_decoding_length=256`, for all. What is cut off at the limit competes there with what ended;
  here it is the last resort. A source of more than `max_input_length=1024` tokens is cut off there;
  ours is translated in parts.

GNMT's penalty is to be had from an n-best list: with `length_penalty=0`, `num_hypotheses` at
`beam_size · patience`, `return_scores=True` and `return_end_token=True`, finished hypotheses come
with their log P. Of those that end in the end's piece, the best of log P / ((5 + length) / 6)^α is
ours, if `patience` is so large that ours was finished by then.
"""

import shutil
import uuid
from pathlib import Path

import numpy as np
from keras import ops

from t2t_keras.checks import check, check_choice
from t2t_keras.decoding.hypotheses import BEGIN, END, PADDING
from t2t_keras.layers.positional_encoding import LearnedPositionalEncoding, sinusoids

UNKNOWN = 3
QUANTIZATIONS = ("float32", "bfloat16", "float16", "int8")
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}
# Rows of the table of sinusoids, which have no end here: twice our longest source.
POSITIONS = 2048
NEVER = -1e4  # as a bias on a logit; float16 can hold it


def save_ctranslate2(
    model, pieces, folder, quantization=None, source_pieces=None, files=(), force=False
):
    """Writes a model for `ctranslate2.Translator`. The folder is whole or absent.

    Args:
        model: a `Transformer`.
        pieces: how each id is written, in the order of the ids.
        folder: its path.
        quantization: how weights are kept: "float32", "bfloat16" or "float16" (half the size), or
            "int8" (a quarter, and computed in int8). CTranslate2 converts what a processor cannot
            compute in when it loads the folder. None: "float32".
        source_pieces: those of the source. None: the same.
        files: paths of files that are to lie in it too, such as the sub-word model.
        force: whether a CTranslate2 model that is there may be replaced.

    Raises:
        ValueError: ctranslate2 is not installed, a setting is wrong, or the folder is there.
    """
    ctranslate2 = library()
    quantization = "float32" if quantization is None else quantization
    check_choice("quantization", quantization, QUANTIZATIONS)
    folder = Path(folder)
    check_free(folder, force)
    spec = specification(ctranslate2.specs, model)
    register_vocabularies(spec, model.config, pieces, source_pieces)
    for path in files:
        spec.register_file(str(path))
    spec.validate()
    if quantization == "bfloat16":  # which CTranslate2 itself can only round to if there is PyTorch
        round_to_bfloat16(spec)
    spec.optimize(quantization=quantization)
    save_whole(spec, folder, force)


def library():
    """The package ctranslate2, which is an extra."""
    try:
        import ctranslate2
    except ImportError as error:
        raise ValueError(
            "A model for CTranslate2 is written with the package ctranslate2, which is not "
            'installed. pip install "t2t-keras[ctranslate2]"'
        ) from error
    return ctranslate2


def check_free(folder, force):
    """Refuses a place that is taken, unless by a model that may be replaced."""
    if not folder.exists():
        return
    if not force:
        raise ValueError(f"{folder} exists already. Give another folder, or replace it with force")
    if not library().contains_model(str(folder)):
        raise ValueError(
            f"{folder} is no model of CTranslate2 and is not replaced by one. Give another folder"
        )


def specification(specs, model):
    """The model as CTranslate2 describes one."""
    config = model.config
    spec = specs.TransformerSpec.from_config(
        config.num_layers,
        config.num_heads,
        pre_norm=config.pre_norm,
        activation=specs.Activation[ACTIVATIONS[config.activation]],
        # What `return_attention` gives: the mean of the heads that our alignments are made of.
        alignment_layer=max(config.num_layers - 2, 0),
        alignment_heads=config.num_heads,
    )
    spec.config.layer_norm_epsilon = config.norm_epsilon
    matrix = array(model.embedding.matrix)
    encoder, decoder = spec.encoder, spec.decoder
    encoder.embeddings[0].weight = matrix
    if model.source_embedding is not model.embedding:
        encoder.embeddings[0].weight = array(model.source_embedding.matrix)
    decoder.embeddings.weight = decoder.projection.weight = matrix
    decoder.projection.bias = output_bias(model)
    encoder.position_encodings.encodings = positions(model.source_positions, config)
    decoder.position_encodings.encodings = positions(model.target_positions, config)
    for stack, its_spec in ((model.encoder, encoder), (model.decoder, decoder)):
        if config.pre_norm:
            set_norm(its_spec.layer_norm, stack.final_norm)
        for block, layer in zip(stack.blocks, its_spec.layer, strict=True):
            set_attention(layer.self_attention, block.self_attention)
            if stack is model.decoder:
                set_attention(layer.attention, block.cross_attention)
            set_feed_forward(layer.ffn, block.feed_forward)
    return spec


def output_bias(model):
    """The bias on the logits, with which padding and begin are never written."""
    bias = np.zeros(model.config.vocab_size, "float32")
    if model.embedding.bias is not None:
        bias = array(model.embedding.bias)
    bias[[PADDING, BEGIN]] = NEVER
    return bias


def positions(layer, config):
    """The encoding of each position, from the first: `[positions, d_model]`."""
    if isinstance(layer, LearnedPositionalEncoding):
        return array(layer.table)[layer.offset :]
    numbers = ops.arange(POSITIONS, dtype="float32") + layer.offset
    return array(sinusoids(numbers, config.d_model, layer.interleaved))


def set_attention(spec, residual):
    """Projections of attention. Of two widths of heads, the smaller is filled up with zeros."""
    attention = residual.sublayer
    set_norm(spec.layer_norm, residual.norm)
    width = max(attention.d_k, attention.d_v)
    spec.queries_scale = attention.d_k**-0.5
    projections = [
        tuple(filled_heads(part, attention.num_heads, width) for part in weights_of(dense))
        for dense in (attention.query, attention.key, attention.value)
    ]
    joint = [projections] if len(spec.linear) == 2 else [projections[:1], projections[1:]]
    for linear, parts in zip(spec.linear, joint, strict=False):
        kernels, *biases = zip(*parts, strict=True)
        set_linear(linear, *(np.concatenate(each, axis=-1) for each in (kernels, *biases)))
    kernel, *bias = weights_of(attention.output_projection)
    set_linear(spec.linear[-1], filled_heads(kernel.T, attention.num_heads, width).T, *bias)


def filled_heads(x, heads, width):
    """`[..., heads · d]` → `[..., heads · width]`, with zeros behind each head."""
    split = x.reshape(*x.shape[:-1], heads, -1)
    widths = [(0, 0)] * (split.ndim - 1) + [(0, width - split.shape[-1])]
    return np.pad(split, widths).reshape(*x.shape[:-1], heads * width)


def set_feed_forward(spec, residual):
    set_norm(spec.layer_norm, residual.norm)
    set_linear(spec.linear_0, *weights_of(residual.sublayer.inner))
    set_linear(spec.linear_1, *weights_of(residual.sublayer.outer))


def set_norm(spec, norm):
    spec.gamma, spec.beta = array(norm.gamma), array(norm.beta)


def set_linear(spec, kernel, bias=None):
    spec.weight = np.ascontiguousarray(kernel.T)
    if bias is not None:
        spec.bias = bias


def weights_of(dense):
    """Its kernel, and its bias if it has one."""
    return [array(weight) for weight in dense.weights]


def array(x):
    return np.array(ops.convert_to_numpy(ops.cast(x, "float32")))


def register_vocabularies(spec, config, pieces, source_pieces):
    """Tells how ids are written, and which of them are special."""
    check_pieces("pieces", pieces, config.vocab_size)
    if source_pieces is None:
        source_pieces = pieces
    check_pieces("source_pieces", source_pieces, config.source_vocab_size or config.vocab_size)
    for id in (END, UNKNOWN):  # which CTranslate2 knows by one name on both sides
        allowed = f"{pieces[id]!r}, as in `pieces`"
        check(source_pieces[id] == pieces[id], f"source_pieces[{id}]", source_pieces[id], allowed)
    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BEGIN]
    spec.config.eos_token = pieces[END]
    spec.config.unk_token = pieces[UNKNOWN]
    spec.config.add_source_eos = True


def check_pieces(name, pieces, size):
    if len(pieces) != size or len(set(pieces)) != size:
        raise ValueError(
            f"`{name}` must be {size} different strings, one for each id. "
            f"Received: {len(pieces)}, {len(set(pieces))} of them different"
        )


def round_to_bfloat16(spec):
    bfloat16 = ops.convert_to_numpy(ops.zeros(0, "bfloat16")).dtype
    for variable in spec.variables().values():
        if not variable.is_scalar():
            variable.array = variable.array.astype(bfloat16)


def save_whole(spec, folder, force):
    """Writes beside the folder's place and renames: nobody sees half a model."""
    mark = uuid.uuid4().hex
    unfinished = folder.with_name(f"{folder.name}.{mark}.unfinished")
    replaced = folder.with_name(f"{folder.name}.{mark}.replaced")
    unfinished.mkdir(parents=True)
    try:
        spec.save(str(unfinished))
        if force and folder.exists():
            folder.rename(replaced)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(replaced, ignore_errors=True)
