"""Writes folders of tensor2tensor."""

import json

import numpy as np
from support.importing.imported_model import random_arrays, renamed, weights_of_blocks
from support.importing.tf_checkpoint import save_tensors

D, FFN, SCALE = 8, 12, 8**0.5
PIECES = ["<pad>", "<EOS>", *"\\_u;0123456789", "the_"]
V = len(PIECES)  # 17
HPARAMS = {
    **{"num_hidden_layers": 2, "num_encoder_layers": 0, "num_decoder_layers": 1, "num_heads": 2},
    **{"layer_preprocess_sequence": "n", "layer_postprocess_sequence": "da"},
    **{"self_attention_type": "dot_product", "ffn_layer": "dense_relu_dense", "pos": "timing"},
    **{"norm_type": "layer", "multiply_embedding_mode": "sqrt_depth", "norm_epsilon": 1e-6},
    **{"layer_prepostprocess_dropout": 0.1, "max_relative_position": 0},
}
# Settings of the imported model.
CONFIG = {
    **{"vocab_size": V + 2, "num_layers": 2, "decoder_layers": 1, "d_model": D, "d_ff": FFN},
    **{"num_heads": 2, "d_k": 3, "d_v": 5, "positions": "concatenated", "pre_norm": True},
    **{"output_bias": True, "source_vocab_size": V + 2},
}
MODALITY = f"transformer/symbol_modality_{V}_{D}"
BODY = "transformer/body"
SPACES = f"{BODY}/target_space_embedding/kernel"


def names_of_blocks(pre=True):
    """Yields (our path, tensor2tensor's name, shape) of the weights of all blocks."""
    norm = f"layer_{'prepostprocess' if pre else 'postprocess'}/layer_norm/layer_norm"
    parts = {"query": "q", "key": "k", "value": "v", "output": "output_transform"}
    pairs = [(f"/attention/{part}", f"/multihead_attention/{parts[part]}") for part in parts]
    pairs += [("cross_attention", "encdec_attention"), ("block_", "layer_")]
    pairs += [("network/inner", "conv1"), ("network/outer", "conv2"), ("feed_forward", "ffn")]
    pairs += [("norm/gamma", f"{norm}_scale"), ("norm/beta", f"{norm}_bias")]
    for path, shape in weights_of_blocks(D, FFN, 6, 10, pre=pre, bias=False):
        yield path, f"{BODY}/{renamed(path, pairs)}", shape


def arrays(pre=True, embeddings=("shared",), spaces=True):
    """Returns random arrays by tensor2tensor's names."""
    shapes = {name: shape for _, name, shape in names_of_blocks(pre)}
    for part in embeddings:
        # Twelve shards, so that the order of names is not that of numbers.
        for shard in range(12):
            shapes[f"{MODALITY}/{part}/weights_{shard}"] = (V // 12 + (shard < V % 12), D)
    return random_arrays(shapes | ({SPACES: (32, D)} if spaces else {}))


def weights_of(model, source="shared", target="shared", output=None, pre=True, space=0):
    """Returns {our path: array}. Their ids 0 and 1 are padding and end."""
    weights = {path: model[name] for path, name, _ in names_of_blocks(pre)}

    def matrix(part, added=0):
        rows = np.concatenate([model[f"{MODALITY}/{part}/weights_{i}"] for i in range(12)]) + added
        return in_our_order(rows)

    weights["embedding/matrix"] = matrix(target)
    if SPACES in model:
        weights["source_embedding/matrix"] = matrix(source, model[SPACES][space] / SCALE)
    if output is not None:
        weights["output_embedding/matrix"] = matrix(output)
    bias = np.zeros(V + 2)
    bias[[0, 1, 3]] = -1e4
    weights["embedding/bias" if output is None else "output_embedding/bias"] = bias
    return weights


def in_our_order(rows):
    """Returns rows for padding, begin, end, unknown and the others."""
    zero = np.zeros(D)
    return np.stack([rows[0], zero, rows[1], zero, *rows[2:]])


def write(folder, model, hparams=None, pieces=PIECES):
    """Writes a folder of tensor2tensor."""
    folder.mkdir(exist_ok=True)
    save_tensors(folder / "model.ckpt-7", {"global_step": np.int64(7), **model})
    (folder / "hparams.json").write_text(json.dumps(HPARAMS | (hparams or {})))
    quoted = "".join(f"'{piece}'\n" for piece in pieces)
    (folder / "vocab.translate_ende.17.subwords").write_text(quoted)
    return folder
