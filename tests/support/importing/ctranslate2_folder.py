"""Writes folders of CTranslate2 in every version of its binary format."""

import json
import struct

import numpy as np

TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")


def write_model(path, variables, version=6, spec="TransformerSpec", revision=7, aliases=()):
    """Writes a model.bin of {name: array}, or of {name: (type, array)} for types NumPy lacks."""
    parts = [struct.pack("<I", version), text(spec), struct.pack("<II", revision, len(variables))]
    for name, array in variables.items():
        kind, array = array if isinstance(array, tuple) else (str(array.dtype), array)
        array = np.asarray(array, order="C")
        parts += [text(name), struct.pack("<B", array.ndim)]
        parts += [struct.pack("<I", size) for size in array.shape]
        if version >= 4:
            parts.append(struct.pack("<BI", TYPES.index(kind), array.nbytes))
        else:
            parts.append(struct.pack("<BI", array.itemsize, array.size))
        parts.append(array.tobytes())
    if version >= 3:
        parts.append(struct.pack("<I", len(aliases)))
        parts += [text(name) for pair in aliases for name in pair]
    path.write_bytes(b"".join(parts))


def text(string):
    contents = string.encode() + b"\0"
    return struct.pack("<H", len(contents)) + contents


def write_vocabulary(path, tokens):
    if path.suffix == ".json":
        path.write_text(json.dumps(tokens))
    else:
        path.write_text("".join(f"{token}\n" for token in tokens))


def random_model(source=11, target=9, layers=(2, 1), seed=0, bias=True):
    """Returns the variables of a pre-norm model without attributes, as in early revisions."""
    random, d_model, d_ff, variables = np.random.default_rng(seed), 16, 24, {}

    def add(name, *shape, mean=0.0):
        variables[name] = random.normal(mean, 0.4, shape).astype("float32")

    def linear(name, rows, columns):
        add(f"{name}/weight", rows, columns)
        if bias:
            add(f"{name}/bias", rows)

    def norm(name):
        add(f"{name}/layer_norm/gamma", d_model, mean=1.0)
        add(f"{name}/layer_norm/beta", d_model)

    add("encoder/embeddings/weight", source, d_model)
    add("decoder/embeddings/weight", target, d_model)
    linear("decoder/projection", target, d_model)
    for stack, count in zip(("encoder", "decoder"), layers, strict=True):
        norm(stack)
        for i in range(count):
            layer = f"{stack}/layer_{i}"
            linear(f"{layer}/self_attention/linear_0", 3 * d_model, d_model)
            linear(f"{layer}/self_attention/linear_1", d_model, d_model)
            norm(f"{layer}/self_attention")
            if stack == "decoder":
                linear(f"{layer}/attention/linear_0", d_model, d_model)
                linear(f"{layer}/attention/linear_1", 2 * d_model, d_model)
                linear(f"{layer}/attention/linear_2", d_model, d_model)
                norm(f"{layer}/attention")
            add(f"{layer}/ffn/linear_0/weight", d_ff, d_model)
            add(f"{layer}/ffn/linear_0/bias", d_ff)
            add(f"{layer}/ffn/linear_1/weight", d_model, d_ff)
            add(f"{layer}/ffn/linear_1/bias", d_model)
            norm(f"{layer}/ffn")
    return variables


def write_folder(folder, variables=None, **model):
    """Writes a folder as OpenNMT-tf's converter did: <blank>, <s>, </s>, …; <unk> is appended."""
    variables = random_model() if variables is None else variables
    folder.mkdir(parents=True, exist_ok=True)
    options = {"version": 2, "spec": "TransformerBase", "revision": 2, **model}
    write_model(folder / "model.bin", variables, **options)
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        name = f"{stack}/embeddings/weight"
        rows = variables[name].shape[0] if name in variables else 9
        tokens = [*["<blank>", "<s>", "</s>"], *(chr(ord("a") + i) for i in range(rows - 4))]
        write_vocabulary(folder / f"{side}_vocabulary.txt", tokens)
    return folder
