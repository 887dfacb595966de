"""Writes folders of OpenNMT-tf 2."""

import numpy as np
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
SUBLAYERS = {
    "encoder": {"self_attention": "self_attention"},
    "decoder": {"self_attention": "self_attention", "attention/0": "cross_attention"},
}


def arrays(source=V, target=None, tied=False, pre=True, biases=True, positions=None):
    """Returns random arrays by OpenNMT-tf's names.

    Args:
        source, target: rows of the matrices; target None: one matrix for both.
        tied: whether the target's matrix also computes the logits.
        pre: whether norms come before the sub-layers.
        biases: whether attention has biases.
        positions: rows of the tables of positions; None: no tables.
    """
    random, result = np.random.default_rng(0), {}

    def add(name, *shape, mean=0.0):
        result[name] = random.normal(mean, 0.5, shape).astype("float32")

    def norm(path):
        add(f"{path}/gamma", D, mean=1.0)
        add(f"{path}/beta", D)

    add(FEATURES, source, D)
    if target is not None:
        add(LABELS, target, D)
    if not tied:
        add(f"{OUTPUT}/kernel", D, target or source)
    add(f"{OUTPUT}/bias", target or source)
    place = "input_layer_norm" if pre else "output_layer_norm"
    for table in TABLES.values() if positions else ():
        add(table, positions, D)
    for stack, layers in (("encoder", 2), ("decoder", 1)):
        for layer in range(layers):
            path = f"model/{stack}/layers/{layer}"
            for kind in SUBLAYERS[stack]:
                for part in ("queries", "keys", "values", "output"):
                    add(f"{path}/{kind}/layer/linear_{part}/kernel", D, D)
                    if biases:
                        add(f"{path}/{kind}/layer/linear_{part}/bias", D)
                norm(f"{path}/{kind}/{place}")
            for part, shape in (("inner", (D, FFN)), ("outer", (FFN, D))):
                add(f"{path}/ffn/layer/{part}/kernel", *shape)
                add(f"{path}/ffn/layer/{part}/bias", shape[1])
            norm(f"{path}/ffn/{place}")
        if pre:
            norm(f"model/{stack}/layer_norm")
    return result


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
