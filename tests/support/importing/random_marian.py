"""Marian models of any size in Hugging Face's layout, with random weights."""

import json

import numpy as np
from support.importing.imported_model import renamed, weights_of_blocks
from support.importing.safetensors_files import write_safetensors
from support.importing.small_sentencepiece import pieces_of, unigram_model


def write_random_marian(folder, vocabulary, d_model, d_ff, heads, layers, dtype="float16"):
    """Writes a folder with one matrix of embeddings, as OPUS-MT models have; returns its path."""
    folder.mkdir()
    arrays = shapes(vocabulary, d_model, d_ff, layers)
    random = np.random.default_rng(0)
    numbers = (random.standard_normal(shape, "float32") * 0.05 for shape in arrays.values())
    write_safetensors(folder / "model.safetensors", arrays, numbers, dtype)
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
    pairs = [("/", "."), (".block_", ".layers."), ("self_attention.attention", "self_attn")]
    pairs += [("cross_attention.attention", "encoder_attn"), ("self_attention", "self_attn")]
    pairs += [("cross_attention", "encoder_attn"), ("attn.norm", "attn_layer_norm")]
    pairs += [("feed_forward.norm", "final_layer_norm"), ("feed_forward.network.inner", "fc1")]
    pairs += [("feed_forward.network.outer", "fc2"), (".query", ".q_proj"), (".key", ".k_proj")]
    pairs += [(".value", ".v_proj"), (".output", ".out_proj")]
    pairs += [("kernel", "weight"), ("gamma", "weight"), ("beta", "bias")]
    blocks = {"encoder": layers, "decoder": layers, "pre": False}
    found = {"model.shared.weight": [vocabulary, d_model], "final_logits_bias": [1, vocabulary]}
    for path, shape in weights_of_blocks(d_model, d_ff, d_model, d_model, **blocks):
        found[f"model.{renamed(path, pairs)}"] = shape[::-1]
    return found
