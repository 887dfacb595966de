import numpy as np
import pytest

from t2t_keras.decoding.batches import WIDTH_MULTIPLE, batches, padded

LENGTHS = {index: 1 + 7 * index % 41 for index in range(50)}


def test_every_sequence_is_in_one_batch_longest_first_and_rows_times_width_has_a_maximum():
    found = list(batches(LENGTHS, 64))
    indices = [index for batch in found for index in batch]
    assert sorted(indices) == sorted(LENGTHS)
    assert [LENGTHS[index] for index in indices] == sorted(LENGTHS.values(), reverse=True)
    for batch in found:
        assert len(batch) * padded([[5] * LENGTHS[index] for index in batch]).shape[1] <= 64


def test_a_sequence_above_the_maximum_is_its_own_batch():
    assert list(batches({0: 3, 1: 100, 2: 3}, 16)) == [[1], [0, 2]]


@pytest.mark.parametrize(("longest", "width"), [(None, WIDTH_MULTIPLE), (5, 5), (100, 8)])
def test_sequences_are_padded_to_a_common_width(longest, width):
    ids = padded([[3, 4, 5, 6], [7]], longest)
    assert ids.shape == (2, width) and ids.dtype == np.int32
    assert ids[0].tolist() == [3, 4, 5, 6] + [0] * (width - 4)
    assert ids[1].tolist() == [7] + [0] * (width - 1)
