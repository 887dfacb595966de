"""The cost of a layer; its memory is measured in test_table1.py, in a process of its own."""

import keras

from t2t_keras.reproduction.layer_cost import seconds


def test_every_length_is_timed_forward_and_backward():
    results = seconds(lambda: keras.layers.Dense(4), lengths=[4, 64], width=4, rounds=1)
    assert len(results) == 2
    for result in results:
        assert result.keys() == {"forward", "training"}
        assert min(result.values()) > 0
