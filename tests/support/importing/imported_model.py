"""Compares an imported model with the arrays and the scores of the other system."""

import ctranslate2
import numpy as np
from support.models.helpers import array

from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.transformer import Transformer
from t2t_keras.transformer_config import TransformerConfig


def weights_of_blocks(d_model, d_ff, keys, values, encoder=2, decoder=1, pre=True, bias=True):
    """Yields (our path, shape) of the weights of all blocks. `bias`: whether attention has it."""
    attention = {"query": (d_model, keys), "key": (d_model, keys), "value": (d_model, values)}
    attention["output"] = (values, d_model)
    network = {"inner": (d_model, d_ff), "outer": (d_ff, d_model)}
    for stack, blocks in (("encoder", encoder), ("decoder", decoder)):
        layers = {f"{stack}/norm": {}} if pre else {}
        for block in range(blocks):
            path = f"{stack}/block_{block}"
            layers[f"{path}/self_attention/norm"] = attention
            if stack == "decoder":
                layers[f"{path}/cross_attention/norm"] = attention
            layers[f"{path}/feed_forward/norm"] = network
        for norm, kernels in layers.items():
            yield f"{norm}/gamma", (d_model,)
            yield f"{norm}/beta", (d_model,)
            place = norm.replace("norm", "network" if kernels is network else "attention")
            for name, shape in kernels.items():
                yield f"{place}/{name}/kernel", shape
                if bias or kernels is network:
                    yield f"{place}/{name}/bias", shape[1:]


def renamed(path, pairs):
    """Returns a path after replacements in their order."""
    for old, new in pairs:
        path = path.replace(old, new)
    return path


def random_arrays(shapes):
    """Returns a random array for each name of `shapes`."""
    random = np.random.default_rng(0)
    return {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def without(arrays, part):
    """Returns a `model` for a writer of folders, without the arrays of some names."""
    return {"model": {name: array for name, array in arrays.items() if part not in name}}


def changed(arrays, name, *shape):
    """Returns a `model` for a writer of folders, with zeros of another shape."""
    return {"model": arrays | {name: np.zeros(shape, "float32")}}


def model_of(imported):
    """Returns a model with the imported weights."""
    model = Transformer(imported.config)
    paths = {weight.path.split("/", 1)[1]: weight for weight in model.weights if weight.trainable}
    assert paths.keys() == imported.weights.keys()
    for path, weight in paths.items():
        weight.assign(imported.weights[path].read())
    return model


def check_model(imported, weights, settings):
    """Compares an `Imported` model with {path: array} and with settings, dropout aside."""
    config = TransformerConfig(**settings, dropout=imported.config.dropout).resolved()
    assert imported.config.resolved() == config
    assert imported.weights.keys() == weights.keys()
    for path, expected in weights.items():
        found = imported.weights[path].read()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=path)


def check_scores(imported, folder, pairs):
    """Compares log P of pairs of lists of pieces with the scores of CTranslate2."""
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    expected = translator.score_batch(*map(list, zip(*pairs, strict=True)))
    ids = {"source": [], "target": []}
    for pair in pairs:
        for side, tokens in zip(ids, pair, strict=True):
            text = getattr(imported, side)
            row = [1] * text.begin + [text.pieces.index(token) for token in tokens] + [2]
            ids[side].append(row + [0] * (10 - len(row)))
    found = array(log_probabilities(model_of(imported), *map(np.array, ids.values())))
    for scores, result in zip(found, expected, strict=True):
        log_p = result.log_probs
        np.testing.assert_allclose(scores[: len(log_p)], log_p, rtol=1e-4, atol=1e-4)
        assert not scores[len(log_p) :].any()
