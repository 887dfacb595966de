"""Writes folders of Marian."""

import numpy as np
from support.importing.imported_model import random_arrays, renamed, weights_of_blocks

D, FFN, TOKENS = 8, 12, ["</s>", "<unk>", *"abcdefghi"]
# Settings of the imported model.
CONFIG = {
    **{"vocab_size": 13, "num_layers": 2, "decoder_layers": 1, "d_model": D, "d_ff": FFN},
    **{"num_heads": 2, "positions": "concatenated", "activation": "swish", "norm_epsilon": 1e-6},
    **{"attention_bias": True, "output_bias": True},
}
SETTINGS = {
    **{"type": "transformer", "dim-emb": D, "dim-vocabs": "\n  - 11\n  - 11"},
    **{"enc-depth": 2, "dec-depth": 1, "transformer-heads": 2, "transformer-dim-ffn": FFN},
    **{"tied-embeddings": "false", "tied-embeddings-src": "false", "tied-embeddings-all": "true"},
    **{"transformer-ffn-activation": "swish", "transformer-ffn-depth": 2},
    **{"transformer-decoder-ffn-depth": 0, "transformer-decoder-dim-ffn": 0},
    **{"transformer-decoder-autoreg": "self-attention", "transformer-tied-layers": "\n  []"},
    **{"transformer-preprocess": '""', "transformer-postprocess": "dan"},
    **{"transformer-postprocess-top": '""', "transformer-postprocess-emb": "d"},
    **{"transformer-no-projection": "false", "lemma-dim-emb": 0, "version": "v1.10.0; 2021"},
}


def names_of_blocks(decoder=(1,), pre=False):
    """Yields (our path, Marian's name, shape) of the weights of all blocks.

    Args:
        decoder: the number of Marian's layer for each block of the decoder.
        pre: whether the model is pre-norm.
    """
    suffix = "_pre" if pre else ""
    parts = {"attention/query": "q", "attention/key": "k", "attention/value": "v"}
    parts |= {"attention/output": "o", "network/inner": "1", "network/outer": "2"}
    pairs = [(f"encoder/block_{i}/", f"encoder_l{i + 1}_") for i in range(2)]
    pairs += [(f"decoder/block_{i}/", f"decoder_l{layer}_") for i, layer in enumerate(decoder)]
    pairs += [("attention/norm/", f"attention_Wo_ln{suffix}/"), ("self_attention", "self")]
    pairs += [("cross_attention", "context"), ("feed_forward/norm/", f"ffn_ffn_ln{suffix}/")]
    pairs += [("coder/norm/", "coder_top_ln/"), ("feed_forward", "ffn")]
    for part, letter in parts.items():
        pairs += [(f"/{part}/kernel", f"_W{letter}"), (f"/{part}/bias", f"_b{letter}")]
    pairs += [("ln_pre/gamma", "ln_scale_pre"), ("ln_pre/beta", "ln_bias_pre")]
    pairs += [("ln/gamma", "ln_scale"), ("ln/beta", "ln_bias")]
    for path, shape in weights_of_blocks(D, FFN, D, D, decoder=len(decoder), pre=pre):
        yield path, renamed(path, pairs), shape if len(shape) == 2 else (1, *shape)


def arrays(matrices=("Wemb",), **blocks):
    """Returns random arrays by Marian's names. For `blocks`, see `names_of_blocks`."""
    shapes = {name: shape for _, name, shape in names_of_blocks(**blocks)}
    shapes |= dict.fromkeys(matrices, (11, D))
    return random_arrays(shapes | {"decoder_ff_logit_out_b": (1, 11)})


def weights_of(model, source="Wemb", target="Wemb", output=None, **blocks):
    """Returns {our path: array}. Our ids begin with padding and begin; then come Marian's."""
    weights = {}
    for path, name, shape in names_of_blocks(**blocks):
        default = np.full(shape, path.endswith("gamma"))
        weights[path] = model.get(name, default).reshape(shape if shape[0] > 1 else shape[1])

    def rows(name):
        return np.concatenate([np.zeros((2, D)), model[name]])

    weights["embedding/matrix"] = rows(target)
    if source != target:
        weights["source_embedding/matrix"] = rows(source)
    if output is not None:
        weights["output_embedding/matrix"] = rows(output)
    bias = model.get("decoder_ff_logit_out_b", np.zeros((1, 11)))[0]
    layer = "embedding" if output is None else "output_embedding"
    weights[f"{layer}/bias"] = np.concatenate([[-1e4, -1e4], bias])
    return weights


def write(folder, model, settings=(), vocabulary=TOKENS, files=()):
    """Writes a folder of Marian. `files` are changes: {name: text, or None for no file}."""
    folder.mkdir(exist_ok=True)
    text = "".join(f"{name}: {value}\n" for name, value in (SETTINGS | dict(settings)).items())
    settings = np.frombuffer(text.encode() + b"\0", "int8")
    np.savez(folder / "model.npz", **model, **{"special:model.yml": settings})
    lines = "".join(f"'{token}': {id}\n" for id, token in enumerate(vocabulary))
    for name, contents in {"vocab.yml": lines, **dict(files)}.items():
        (folder / name).unlink(missing_ok=True)
        if contents is not None:
            (folder / name).write_text(contents)
    return folder
