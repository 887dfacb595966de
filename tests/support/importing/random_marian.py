"""Marian models of any size in Hugging Face's layout, with random weights."""

import json

import numpy as np
from support.importing.small_sentencepiece import pieces_of, unigram_model


def write_random_marian(folder, vocabulary, d_model, d_ff, heads, layers, dtype="float16"):
    """Writes a folder with one matrix of embeddings, as OPUS-MT models have; returns its path.

    Args:
        folder: path of the new folder.
        vocabulary: number of ids.
        d_model, d_ff, heads: sizes of the model.
        layers: number of layers of each stack.
        dtype: "float16" or "float32".
    """
    folder.mkdir()
    arrays = shapes(vocabulary, d_model, d_ff, layers)
    random, header, end = np.random.default_rng(0), {}, 0
    code = {"float16": "F16", "float32": "F32"}[dtype]
    for name, shape in arrays.items():
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    header = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for shape in arrays.values():
            file.write((random.standard_normal(shape, "float32") * 0.05).astype(dtype).tobytes())
    settings = {
        **{"model_type": "marian", "d_model": d_model, "vocab_size": vocabulary},
        **{"activation_function": "swish", "scale_embedding": True},
        **{"eos_token_id": 0, "pad_token_id": vocabulary - 1},
        **{"decoder_start_token_id": vocabulary - 1},
    }
    for stack in ("encoder", "decoder"):
        settings |= {f"{stack}_layers": layers, f"{stack}_ffn_dim": d_ff}
        settings[f"{stack}_attention_heads"] = heads
    (folder / "config.json").write_text(json.dumps(settings))
    pieces = [piece for piece in pieces_of(unigram_model(120)) if piece[:1] != "<"]
    words = (f"▁word{i}" for i in range(vocabulary - 3 - len(pieces)))
    tokens = ["</s>", "<unk>", *pieces, *words, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(unigram_model(120))
    return folder


def shapes(vocabulary, d_model, d_ff, layers):
    """Returns the shape of each tensor by Hugging Face's names."""
    found = {"model.shared.weight": [vocabulary, d_model], "final_logits_bias": [1, vocabulary]}

    def dense(name, width_in, width_out):
        found.update({f"{name}.weight": [width_out, width_in], f"{name}.bias": [width_out]})

    def norm(name):
        found.update({f"{name}.{part}": [d_model] for part in ("weight", "bias")})

    for stack in ("encoder", "decoder"):
        for layer in range(layers):
            path = f"model.{stack}.layers.{layer}"
            for kind in ("self_attn", "encoder_attn")[: 1 if stack == "encoder" else 2]:
                for part in ("q", "k", "v", "out"):
                    dense(f"{path}.{kind}.{part}_proj", d_model, d_model)
                norm(f"{path}.{kind}_layer_norm")
            dense(f"{path}.fc1", d_model, d_ff)
            dense(f"{path}.fc2", d_ff, d_model)
            norm(f"{path}.final_layer_norm")
    return found
