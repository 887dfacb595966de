"""Which candidates become live hypotheses, with a beam of 2 and two continuations of each."""

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array

from t2t_keras.decoding.phrases.beam_allocation import allocated

NONE = -np.inf


@pytest.mark.parametrize(
    ("scores", "missing", "expected"),
    [
        # Without phrases, the most likely ones.
        ([-1.0, -4.0, -2.0, -3.0, NONE], [0, 0, 0, 0, 0], [-1.0, -2.0]),
        # The best of each bank, however unlikely, before the second best of the first bank.
        ([-1.0, -4.0, -2.0, -3.0, -9.0], [2, 2, 2, 2, 1], [-9.0, -1.0]),
        # Of three banks, those that are the most likely ones if a missing token costs 3.
        ([-1.0, -4.0, -2.0, -3.0, -5.0], [3, 3, 2, 2, 1], [-2.0, -5.0]),
        # Impossible candidates have no bank.
        ([-1.0, -4.0, NONE, NONE, NONE], [2, 2, 1, 1, 0], [-1.0, -4.0]),
    ],
)
def test_every_bank_gets_its_share_of_the_beam(scores, missing, expected):
    scores, missing = np.array([scores], "float32"), np.array([missing], "int32")
    chosen = array(allocated(ops.array(scores), ops.array(missing), beam=2, likely=4))
    assert sorted(scores[0, chosen[0].astype(int)]) == sorted(np.array(expected, "float32"))
