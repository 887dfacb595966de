"""Wrong inputs of the Transformer are refused."""

import pytest
from keras import ops
from support.models.helpers import ids, pairs, tiny_model


@pytest.fixture(scope="module")
def model():
    return tiny_model()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"source": ids(2, 3)}, r"Received: \['source'\]"),
        (ids(2, 3), "{'source': ids .*, 'target': ids .*}. Received: "),
        ({"source": ids(2, 3)[0], "target": ids(2, 3)}, "'source' of dtype int32, rank 1, shape"),
        (
            {"source": ids(2, 3), "target": ids(2, 3)[None]},
            "'target' of dtype int32, rank 3, shape",
        ),
        (
            {"source": ids(2, 3), "target": ids(2, 3) / 1.0},
            "must be integers .*'target' of dtype",
        ),
        ({"source": ids(1, 3), "target": ids(3, 3)}, "same number of rows. Received: 1 and 3"),
    ],
)
def test_wrong_inputs_are_refused(inputs, message, model):
    with pytest.raises(ValueError, match=message):
        model(inputs)


def test_a_sequence_longer_than_learned_positions_is_refused():
    model = tiny_model(positions="learned", max_length=6)
    with pytest.raises(ValueError, match=r"Received: 7 positions. Shorten the sequence"):
        model(pairs())
    with pytest.raises(ValueError, match="Received: 9 positions"):
        model.start_decoding(ops.array(ids(1, 3)), max_length=9)
