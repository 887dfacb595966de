"""Writes folders of OpenNMT-tf 2."""

import numpy as np
from support.importing.imported_model import random_arrays, renamed, weights_of_blocks
from support.importing.tf_checkpoint import save_tensors

D, FFN = 8, 12
TOKENS = ["<blank>", "<s>", "</s>", *"abcdefg"]
V = len(TOKENS) + 1  # the last row is the unknown token's
# Settings of the imported model.
CONFIG = {
    **{"vocab_size": V, "num_layers": 2, "decoder_layers": 1, "d_model": D, "d_ff": FFN},
    **{"num_heads": 2, "positions": "concatenated", "position_offset": 1, "pre_norm": True},
    **{"norm_epsilon": 1e-3, "attention_bias": True, "output_bias": True, "source_end": False},
}
FEATURES, LABELS = (
    f"model/examples_inputter/{side}_inputter/embedding" for side in ("features", "labels")
)
OUTPUT = "model/decoder/output_layer"
TABLES = {
    side: f"model/{stack}/position_encoder/embedding"
    for side, stack in (("source", "encoder"), ("target", "decoder"))
}


def names_of_blocks(pre=True, bias=True):
    """Yields (our path, OpenNMT-tf's name, shape) of the weights of all blocks."""
    place = "input_layer_norm" if pre else "output_layer_norm"
    pairs = [("attention/norm/", f"attention/{place}/"), ("cross_attention", "attention/0")]
    parts = {"query": "queries", "key": "keys", "value": "values", "output": "output"}
    pairs += [(f"/attention/{part}", f"/layer/linear_{parts[part]}") for part in parts]
    pairs += [("/network/", "/layer/")]
    pairs += [("feed_forward/norm/", f"ffn/{place}/"), ("feed_forward", "ffn")]
    pairs += [("coder/norm/", "coder/layer_norm/"), ("block_", "layers/")]
    for path, shape in weights_of_blocks(D, FFN, D, D, pre=pre, bias=bias):
        yield path, f"model/{renamed(path, pairs)}", shape


def arrays(target=None, tied=False, positions=None, **blocks):
    """Returns random arrays by OpenNMT-tf's names. `target`, `positions`: rows of matrices."""
    rows = target or V
    shapes = {name: shape for _, name, shape in names_of_blocks(**blocks)}
    shapes |= {FEATURES: (V, D), f"{OUTPUT}/bias": (rows,)}
    if target is not None:
        shapes[LABELS] = (rows, D)
    if not tied:
        shapes[f"{OUTPUT}/kernel"] = (D, rows)
    if positions:
        shapes |= dict.fromkeys(TABLES.values(), (positions, D))
    return random_arrays(shapes)


def weights_of(model, **blocks):
    """Returns {our path: array}."""
    weights = {path: model[name] for path, name, _ in names_of_blocks(**blocks)}
    target = model.get(LABELS, model[FEATURES])
    weights["embedding/matrix"] = in_our_order(target)
    if LABELS in model:
        weights["source_embedding/matrix"] = in_our_order(model[FEATURES])
    layer = "embedding"
    if f"{OUTPUT}/kernel" in model:
        layer = "output_embedding"
        weights[f"{layer}/matrix"] = in_our_order(model[f"{OUTPUT}/kernel"].T)
        weights[f"{layer}/matrix"][1] = 0  # begin is never written
    bias = in_our_order(model.get(f"{OUTPUT}/bias", np.zeros(len(target))))
    bias[:2] = -1e4
    weights[f"{layer}/bias"] = bias
    return weights


def in_our_order(rows):
    """Returns rows for padding, begin, end, unknown and the others. Their unknown is the last."""
    return np.stack([*rows[:3], rows[-1], *rows[3:-1]])


def write(folder, model, description="num_heads=2", **vocabularies):
    """Writes a folder of OpenNMT-tf, with the state of training that its checkpoints have."""
    folder.mkdir(exist_ok=True)
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    entries = {f"{name}{value}": array for name, array in model.items()}
    bias = f"{OUTPUT}/bias/.OPTIMIZER_SLOT/optimizer/m{value}"
    entries |= {bias: np.zeros(V), f"optimizer/iter{value}": 5, f"save_counter{value}": 1}
    entries["_CHECKPOINTABLE_OBJECT_GRAPH"] = b"graph"
    save_tensors(folder / "ckpt-5", entries)
    if description is not None:
        (folder / "model_description.py").write_text(description)
    for name, tokens in (vocabularies or {"vocab": TOKENS}).items():
        (folder / f"{name.replace('_', '-')}.txt").write_text("".join(f"{t}\n" for t in tokens))
    return folder
