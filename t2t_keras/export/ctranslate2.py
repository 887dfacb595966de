"""A folder for CTranslate2 (https://opennmt.net/CTranslate2), which translates fast on CPUs, in int8.

It needs neither this package nor TensorFlow. What its search finds there, beside ours:

- It takes pieces and gives pieces. The end of the source is added there, and none is to be given.
- Padding and begin are never written, in either search. Here log P is that of the model; there it is
  that of the model that could not write them, so their probability is shared among the others.
- **The length penalty differs.** Ours is log P / ((5 + length) / 6)^α, its own log P / length^β, with
  β = `length_penalty`. With α = β = 0 both find the same hypothesis, wherever it ends within the
  limits of both: the live hypotheses are the same at every step, and neither search stops before
  nothing better can come. For α > 0 and usual lengths n, β = α · n / (n + 5) trades alike.
- **GNMT's penalty is to be had exactly from an n-best list**: with `length_penalty=0`, `patience=8`,
  `num_hypotheses=8 * beam_size`, `return_scores=True` and `return_end_token=True` the finished
  hypotheses come with log P. Leave out those that do not end in the end's piece and take the best of
  log P / ((5 + length) / 6)^α, `length` counting that piece. Nothing better is missed, unless more
  hypotheses than that had ended before ours did.
- **Limits.** Ours is the source's length and `extra_length`, for each sentence; there it is
  `max_decoding_length=256` for all, and a hypothesis that is cut off there competes with those that
  ended. A source of more than `max_input_length=1024` tokens is cut off there; ours is cut in parts.
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
# Rows of the table of sinusoids, which have no end here: our longest source and twice that.
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
            "int8" (a quarter, and computed in int8). What a processor cannot compute in, CTranslate2
            converts when it loads the folder. None: "float32".
        source_pieces: those of the source, if its vocabulary is another (`source_vocab_size`).
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
    save_whole(spec, folder)


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
        raise ValueError(f"{folder} exists already. Give another folder, or allow to replace it")
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
    if config.source_vocab_size is None:
        check(source_pieces is None, "source_pieces", source_pieces, "None: there is one matrix")
        source_pieces = pieces
    else:
        check_pieces("source_pieces", source_pieces, config.source_vocab_size)
        # The end of a source is looked up by how that of a target is written.
        for id in (END, UNKNOWN):
            allowed = f"written {pieces[id]!r} as in `pieces`"
            check(source_pieces[id] == pieces[id], f"source_pieces[{id}]", source_pieces[id], allowed)
    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BEGIN]
    spec.config.eos_token = pieces[END]
    spec.config.unk_token = pieces[UNKNOWN]
    spec.config.add_source_eos = True


def check_pieces(name, pieces, size):
    received = "None" if pieces is None else f"{len(pieces)}, {len(set(pieces))} of them different"
    if pieces is None or len(pieces) != size or len(set(pieces)) != size:
        raise ValueError(
            f"`{name}` must be {size} different strings, one for each id. Received: {received}"
        )


def round_to_bfloat16(spec):
    bfloat16 = ops.convert_to_numpy(ops.zeros(0, "bfloat16")).dtype
    for variable in spec.variables().values():
        if not variable.is_scalar():
            variable.array = variable.array.astype(bfloat16)


def save_whole(spec, folder):
    """Writes beside the folder's place and renames: nobody sees half a model."""
    mark = uuid.uuid4().hex
    unfinished = folder.with_name(f"{folder.name}.{mark}.unfinished")
    replaced = folder.with_name(f"{folder.name}.{mark}.replaced")
    unfinished.mkdir(parents=True)
    try:
        spec.save(str(unfinished))
        if folder.exists():
            folder.rename(replaced)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
