"""Writes folders of Marian."""

import numpy as np

D, FFN, TOKENS = 8, 12, ["</s>", "<unk>", *"abcdefghi"]
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


def arrays(layers=(2, 1), pre=False, matrices=("Wemb",), no_bias=False, no_affine=False):
    """Returns random arrays by Marian's names."""
    random, result = np.random.default_rng(0), {}

    def add(name, *shape, mean=0.0):
        result[name] = random.normal(mean, 0.5, shape).astype("float32")

    def dense(prefix, part, width, units):
        add(f"{prefix}_W{part}", width, units)
        if not no_bias:
            add(f"{prefix}_b{part}", 1, units)

    def norm(name, suffix=""):
        if not no_affine:
            add(f"{name}_ln_scale{suffix}", 1, D, mean=1.0)
            add(f"{name}_ln_bias{suffix}", 1, D)

    for name in matrices:
        add(name, 11, D)
    add("decoder_ff_logit_out_b", 1, 11)
    suffix = "_pre" if pre else ""
    for stack, depth in zip(("encoder", "decoder"), layers, strict=True):
        for layer in range(1, depth + 1):
            for kind in ("self", "context")[: 1 if stack == "encoder" else 2]:
                for part in "qkvo":
                    dense(f"{stack}_l{layer}_{kind}", part, D, D)
                norm(f"{stack}_l{layer}_{kind}_Wo", suffix)
            dense(f"{stack}_l{layer}_ffn", "1", D, FFN)
            dense(f"{stack}_l{layer}_ffn", "2", FFN, D)
            norm(f"{stack}_l{layer}_ffn_ffn", suffix)
        if pre:
            norm(f"{stack}_top")
    return result


def write(folder, model, settings=None, vocabulary=TOKENS):
    """Writes a folder of Marian."""
    folder.mkdir(exist_ok=True)
    settings = SETTINGS | (settings or {})
    text = "".join(f"{name}: {value}\n" for name, value in settings.items())
    settings = np.frombuffer(text.encode() + b"\0", "int8")
    np.savez(folder / "model.npz", **model, **{"special:model.yml": settings})
    lines = (f"'{token}': {id}\n" for id, token in enumerate(vocabulary))
    (folder / "vocab.yml").write_text("".join(lines))
    return folder
