"""A model whose tensors do not fit together is refused by the name of what is wrong."""

import numpy as np
import pytest
from support.importing.imported_model import random_arrays, weights_of_blocks

from t2t_keras.importing.converter import Converter, Names
from t2t_keras.importing.tensors import Tensor, Tensors

D, FFN = 8, 12
NAMES = Names(  # of a system that has our names
    block="{stack}/block_{number}",
    attentions=("self_attention", "cross_attention"),
    projections=tuple(
        f"{{block}}/{{attention}}/attention/{part}/{{part}}"
        for part in ("query", "key", "value", "output")
    ),
    network=(
        "{block}/feed_forward/network/inner/{part}",
        "{block}/feed_forward/network/outer/{part}",
    ),
    norms=(
        "{block}/{attention}/norm/{part}",
        "{block}/feed_forward/norm/{part}",
        "{stack}/norm/{part}",
    ),
)
MODEL = random_arrays(dict(weights_of_blocks(D, FFN, D, D)))
INNER = "encoder/block_1/feed_forward/network/inner"


def converter(arrays, optional=False):
    tensors = {
        name: Tensor(array.shape, lambda array=array: array) for name, array in arrays.items()
    }
    return Converter(Tensors(tensors, "the file"), NAMES, optional)


def test_every_weight_is_found_by_its_name():
    found = converter(MODEL)
    found.blocks(D, heads=2, pre_norm=True)
    found.tensors.check_all_used()
    assert found.weights.keys() == MODEL.keys()
    for path, array in MODEL.items():
        np.testing.assert_array_equal(found.weights[path].read(), array)
    expected = {"num_layers": 2, "decoder_layers": 1, "d_ff": FFN, "d_k": 4, "d_v": 4}
    assert found.settings.items() >= expected.items()


def test_absent_vectors_are_zeros_and_ones_if_they_are_optional():
    found = converter(
        {name: array for name, array in MODEL.items() if array.ndim > 1}, optional=True
    )
    found.blocks(D, heads=2, pre_norm=True)
    assert found.weights.keys() == MODEL.keys()
    assert not found.weights[f"{INNER}/bias"].read().any()
    assert (found.weights["encoder/norm/gamma"].read() == 1).all()


def zeros(*shape):
    return np.zeros(shape, "float32")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({f"{INNER}/bias": None}, f"the file has no tensor {INNER}/bias"),
        ({f"{INNER}/bias": zeros(11)}, rf"{INNER}/bias must have the shape \(12\)"),
        ({f"{INNER}/kernel": zeros(7, 12)}, rf"{INNER}/kernel must have the shape \(8, any\)"),
        ({"decoder/block_0/adapter": zeros(1)}, "does not have, so .*: decoder/block_0/adapter"),
        (
            {f"{INNER}/kernel": zeros(8, 4), f"{INNER}/bias": zeros(4)}
            | {f"{INNER.replace('inner', 'outer')}/kernel": zeros(4, 8)},
            r"must have the same widths .* \(4, 8, 8\), \(12, 8, 8\)",
        ),
    ],
)
def test_other_tensors_are_refused(changes, message):
    arrays = {name: array for name, array in (MODEL | changes).items() if array is not None}
    found = converter(arrays)
    with pytest.raises(ValueError, match=message):
        found.blocks(D, heads=2, pre_norm=True)
        found.tensors.check_all_used()


@pytest.mark.parametrize("heads", [0, 3, None, 2.0])
def test_heads_that_do_not_divide_the_widths_are_refused(heads):
    with pytest.raises(
        ValueError, match=rf"a divisor of .*, 8 and 8\. Received: num_heads={heads}"
    ):
        converter(MODEL).blocks(D, heads, pre_norm=True)


def test_stacks_have_tables_of_positions_of_one_length():
    found = converter(MODEL | {"nine": zeros(9, D), "eight": zeros(8, D)})
    found.blocks(D, heads=2, pre_norm=True)
    for other in ("eight", "none"):
        with pytest.raises(ValueError, match=r"the same number of positions\. Received: 9 and"):
            found.positions(["nine", other])
