"""Writes folders of OpenNMT-tf 2."""

import numpy as np
from support.importing.imported_model import random_arrays
from support.importing.tf_checkpoint import save_tensors

D, FFN = 8, 12
TOKENS = ["<blank>", "<s>", "</s>", *"abcdefg"]
V = len(TOKENS) + 1  # the last row is the unknown token's
FEATURES, LABELS = (
    f"model/examples_inputter/{side}_inputter/embedding" for side in ("features", "labels")
)
OUTPUT = "model/decoder/output_layer"
TABLES = {
    side: f"model/{stack}/position_encoder/embedding"
    for side, stack in (("source", "encoder"), ("target", "decoder"))
}


def names_of_blocks(pre=True, biases=True):
    """Yields (our path, OpenNMT-tf's name, shape) of the weights of all blocks."""
    place = "input_layer_norm" if pre else "output_layer_norm"
    kinds = {"self_attention": "self_attention", "attention/0": "cross_attention"}
    parts = {"queries": "query", "keys": "key", "values": "value", "output": "output"}

    def norm(path, name):
        for part in ("gamma", "beta"):
            yield f"{path}/{part}", f"{name}/{part}", (D,)

    def dense(path, name, shape, bias=True):
        yield f"{path}/kernel", f"{name}/kernel", shape
        if bias:
            yield f"{path}/bias", f"{name}/bias", shape[1:]

    for stack, layers in (("encoder", 2), ("decoder", 1)):
        for layer in range(layers):
            path, name = f"{stack}/block_{layer}", f"model/{stack}/layers/{layer}"
            for kind in ("self_attention",) if stack == "encoder" else kinds:
                ours, theirs = f"{path}/{kinds[kind]}", f"{name}/{kind}"
                for part, projection in parts.items():
                    linear = f"{theirs}/layer/linear_{part}"
                    yield from dense(f"{ours}/attention/{projection}", linear, (D, D), biases)
                yield from norm(f"{ours}/norm", f"{theirs}/{place}")
            for part, shape in (("inner", (D, FFN)), ("outer", (FFN, D))):
                ours = f"{path}/feed_forward/network/{part}"
                yield from dense(ours, f"{name}/ffn/layer/{part}", shape)
            yield from norm(f"{path}/feed_forward/norm", f"{name}/ffn/{place}")
        if pre:
            yield from norm(f"{stack}/norm", f"model/{stack}/layer_norm")


def arrays(target=None, tied=False, positions=None, **blocks):
    """Returns random arrays by OpenNMT-tf's names.

    Args:
        target: rows of the target's matrix. None: one matrix for both.
        tied: whether the target's matrix also computes the logits.
        positions: rows of the tables of positions. None: no tables.
        **blocks: see `names_of_blocks`.
    """
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


def write(folder, model, step=5, description="num_heads=2", **vocabularies):
    """Writes a folder of OpenNMT-tf, with the state of training that its checkpoints have."""
    folder.mkdir(exist_ok=True)
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    entries = {f"{name}{value}": array for name, array in model.items()}
    bias = f"{OUTPUT}/bias/.OPTIMIZER_SLOT/optimizer/m{value}"
    entries |= {bias: np.zeros(V), f"optimizer/iter{value}": 5, f"save_counter{value}": 1}
    entries["_CHECKPOINTABLE_OBJECT_GRAPH"] = b"graph"
    save_tensors(folder / f"ckpt-{step}", entries)
    if description is not None:
        (folder / "model_description.py").write_text(description)
    for name, tokens in (vocabularies or {"vocab": TOKENS}).items():
        (folder / f"{name.replace('_', '-')}.txt").write_text("".join(f"{t}\n" for t in tokens))
    return folder
