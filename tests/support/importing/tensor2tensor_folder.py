"""Writes folders of tensor2tensor."""

import json

import numpy as np
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
EMBEDDINGS = ("shared",)
MODALITY = f"transformer/symbol_modality_{V}_{D}"
SPACES = "transformer/body/target_space_embedding/kernel"


def arrays(
    pre=True, embeddings=EMBEDDINGS, heads_apart=False, spaces=True, body="transformer/body"
):
    """Returns random arrays by tensor2tensor's names."""
    random, result = np.random.default_rng(0), {}

    def add(name, *shape, mean=0.0):
        result[name] = random.normal(mean, 0.5, shape).astype("float32")

    def norm(path):
        add(f"{path}/layer_norm/layer_norm_scale", D, mean=1.0)
        add(f"{path}/layer_norm/layer_norm_bias", D)

    for part in embeddings:
        # Twelve shards, so that the order of names is not that of numbers.
        for shard in range(12):
            rows = V // 12 + (shard < V % 12)
            add(f"{MODALITY}/{part}/weights_{shard}", rows, D)
    if spaces:
        add(SPACES, 32, D)
    place = "layer_prepostprocess" if pre else "layer_postprocess"
    for stack, layers in (("encoder", 2), ("decoder", 1)):
        for layer in range(layers):
            path = f"{body}/{stack}/layer_{layer}"
            for kind in ("self_attention", "encdec_attention")[: 1 if stack == "encoder" else 2]:
                attention = f"{path}/{kind}/multihead_attention"
                for part, width in zip("qkv", (3, 3, 5), strict=True):
                    if heads_apart:
                        add(f"{attention}/{part}", D, 2, width)
                    else:
                        add(f"{attention}/{part}/kernel", D, 2 * width)
                if heads_apart:
                    add(f"{attention}/o", 2, 5, D)
                else:
                    add(f"{attention}/output_transform/kernel", 10, D)
                norm(f"{path}/{kind}/{place}")
            add(f"{path}/ffn/conv1/kernel", D, FFN)
            add(f"{path}/ffn/conv1/bias", FFN)
            add(f"{path}/ffn/conv2/kernel", FFN, D)
            add(f"{path}/ffn/conv2/bias", D)
            norm(f"{path}/ffn/{place}")
        if pre:
            norm(f"{body}/{stack}/layer_prepostprocess")
    return result


def write(folder, model, hparams=None, step=7, pieces=PIECES):
    """Writes a folder of tensor2tensor."""
    folder.mkdir(exist_ok=True)
    model = {"global_step": np.int64(step), **model}
    save_tensors(folder / f"model.ckpt-{step}", model)
    (folder / "hparams.json").write_text(json.dumps(HPARAMS | (hparams or {})))
    quoted = "".join(f"'{piece}'\n" for piece in pieces)
    (folder / "vocab.translate_ende.17.subwords").write_text(quoted)
    return folder
