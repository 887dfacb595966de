"""The operations on NumPy arrays equal those of Keras."""

import re
from pathlib import Path

import numpy as np
import pytest
from keras import ops as keras_ops

from t2t_keras.ops import NUMPY, map_structure, on_numpy, ops

RANDOM = np.random.default_rng(0)
FLOATS, INTEGERS = RANDOM.normal(size=(3, 4, 5)).astype("float32"), np.arange(60).reshape(3, 4, 5)
INTEGERS = (INTEGERS * 7 % 11).astype("int32")
FLAGS = FLOATS > 0
INDICES = np.array([[2, 0], [1, 1], [3, 2]], "int32")
CASES = [
    *(("all", FLAGS, 2), ("any", FLAGS, 1), ("arange", 5), ("arange", 2, 7)),
    ("argmax", FLOATS, -1),
    ("broadcast_to", FLOATS[:, :, :1], (3, 4, 5)),
    *(("cast", FLAGS, "int32"), ("clip", FLOATS, -0.5, 0.5), ("concatenate", [FLOATS, FLOATS], 1)),
    *(("convert_to_tensor", 3, "int32"), ("cumsum", INTEGERS, -1), ("cumsum", FLOATS, -1)),
    *(("exp", FLOATS), ("full", (2, 3), -np.inf), ("full_like", FLOATS, 2.0)),
    *(("log", np.abs(FLOATS)), ("log_softmax", FLOATS), ("logsumexp", FLOATS, -1)),
    *(("logsumexp", FLOATS, -1, True), ("max", FLOATS, -1), ("maximum", INTEGERS, 3)),
    *(("mean", FLOATS, 1), ("minimum", INTEGERS, 3), ("not_equal", INTEGERS, 3)),
    *(("ones", (2, 3), "bool"), ("ones_like", FLOATS)),
    ("pad", INTEGERS, [(0, 0), (1, 2), (0, 3)]),
    ("repeat", INTEGERS[0, 0], 3),
    ("reshape", FLOATS, (-1, 10)),
    ("scatter_update", FLOATS[0], np.array([[1, 2], [3, 4]]), np.array([7.0, 8.0], "float32")),
    *(("softmax", FLOATS), ("stack", [FLOATS, FLOATS], -1), ("sum", INTEGERS, 1)),
    *(("sum", FLOATS, -1, True), ("take", FLOATS, INDICES, 1), ("take", INTEGERS[0, 0], INDICES)),
    ("take_along_axis", FLOATS[..., 0], INDICES, 1),
    ("take_along_axis", FLOATS, np.zeros((3, 4, 2), "int32"), 2),
    ("take_along_axis", FLOATS, np.zeros((3, 2, 5), "int32"), 1),
    ("top_k", np.round(FLOATS) + 0.0, 4),  # with equal numbers, but not with −0
    ("top_k", RANDOM.normal(size=(3, 200)).astype("float32"), 7),
    *(("transpose", FLOATS, (0, 2, 1)), ("where", FLAGS, FLOATS, -np.inf)),
    *(("where", FLAGS, 0.0, -np.inf), ("where", FLAGS, INTEGERS, 0), ("zeros", (2, 3))),
    *(("zeros", (2, 3), "int32"), ("zeros_like", INTEGERS)),
]


@pytest.mark.jax
def test_every_operation_equals_that_of_keras():
    for name, *arguments in CASES:
        expected = getattr(keras_ops, name)(*arguments)
        with on_numpy():
            found = getattr(ops, name)(*arguments)
        is_tuple = isinstance(found, tuple)
        pairs = zip(found, expected, strict=True) if is_tuple else [(found, expected)]
        for ours, theirs in pairs:
            theirs = keras_ops.convert_to_numpy(theirs)
            assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype, name
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=name)


def test_control_flow_and_shapes():
    with on_numpy():
        assert [ops.cond(flag, lambda: 1, lambda: 2) for flag in (True, False)] == [1, 2]
        assert ops.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + i), (0, 0)) == (3, 3)
        assert ops.shape(FLOATS) == (3, 4, 5)


def test_every_operation_that_the_searches_use_exists_and_is_compared():
    root = Path(__file__).parent.parent / "t2t_keras"
    files = [*(root / "decoding").glob("*.py"), root / "decoding_cache.py"]
    sources = [file.read_text(encoding="utf-8") for file in files]
    sources = [each for each in sources if "from t2t_keras.ops import" in each]
    used = {name for each in sources for name in re.findall(r"\bops\.(\w+)", each)}
    only_in_graphs = {"expand_dims", "matmul"}
    compared = {name for name, *_ in CASES} | {"cond", "while_loop", "shape", "meshgrid"}
    assert used - only_in_graphs | NUMPY.keys() <= compared


def test_only_the_block_and_its_thread_compute_with_numpy():
    with on_numpy():
        with on_numpy():
            pass
        assert type(ops.zeros(2)) is np.ndarray
    assert type(ops.zeros(2)) is not np.ndarray


def test_structures_are_mapped():
    structure = {"a": [1, (2, None)]}
    assert map_structure(lambda x: 2 * x, structure) == {"a": [2, (4, None)]}
