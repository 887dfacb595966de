"""The bookkeeping of decoding: slots, masks and the two layouts of a step's arrays."""

import numpy as np
from keras import ops
from support.models.helpers import array

from t2t_keras.decoding_cache import (
    KeysValues,
    decoding_step,
    empty_cache,
    extended,
    own_slots,
)

SENTENCES, BEAMS, LENGTH, HEADS, D_K, D_V = 2, 3, 4, 2, 5, 6


def step_at(position, visible=None):
    cache = empty_cache(SENTENCES, LENGTH * BEAMS, HEADS, D_K, D_V, "float32")
    return cache, decoding_step(cache, position, BEAMS, visible)


def test_beam_b_writes_position_p_to_slot_p_times_beams_plus_b():
    cache, step = step_at(position=2)
    rows = np.random.default_rng(0).normal(size=(SENTENCES, BEAMS, HEADS, D_K + D_V))
    rows = rows.astype("float32")
    written = step.write(
        cache,
        ops.reshape(ops.array(rows[..., :D_K]), (-1, D_K)),
        ops.reshape(ops.array(rows[..., D_K:]), (-1, D_V)),
    )
    assert isinstance(written, KeysValues)
    for sentence in range(SENTENCES):
        for beam in range(BEAMS):
            slot = 2 * BEAMS + beam
            keys, values = (array(part)[sentence, :, slot] for part in written)
            np.testing.assert_array_equal(keys, rows[sentence, beam, :, :D_K])
            np.testing.assert_array_equal(values, rows[sentence, beam, :, D_K:])
    assert np.count_nonzero(array(written.keys)) == SENTENCES * BEAMS * HEADS * D_K


def test_heads_are_split_and_joined_again():
    _, step = step_at(position=0)
    rows = np.arange(SENTENCES * BEAMS * HEADS * D_K, dtype="float32")
    rows = rows.reshape(SENTENCES, BEAMS, HEADS, D_K)
    flat = ops.array(rows.reshape(SENTENCES * BEAMS, HEADS * D_K))
    heads = step.split_heads(flat, HEADS)
    np.testing.assert_array_equal(array(heads), rows.swapaxes(1, 2))
    np.testing.assert_array_equal(array(step.join_heads(heads)), array(flat))


def test_each_beam_sees_its_own_slots_up_to_the_position():
    expected = np.zeros((1, BEAMS, LENGTH * BEAMS), bool)
    for beam in range(BEAMS):
        expected[0, beam, [beam, BEAMS + beam]] = True
    np.testing.assert_array_equal(array(own_slots(1, BEAMS, LENGTH * BEAMS)), expected)
    _, step = step_at(position=1)
    np.testing.assert_array_equal(array(step.visible)[:, 0], expected)


def test_given_visible_slots_are_used():
    visible = np.random.default_rng(1).random((SENTENCES, BEAMS, LENGTH * BEAMS)) < 0.5
    _, step = step_at(position=3, visible=ops.array(visible))
    np.testing.assert_array_equal(array(step.visible)[:, 0], visible)


def rolling_step(position, visible=None):
    cache = empty_cache(SENTENCES, LENGTH * BEAMS, HEADS, D_K, D_V, "float32")
    return decoding_step(cache, position, BEAMS, visible, rolling=True)


def test_a_rolling_cache_overwrites_the_oldest_position():
    for position in range(3 * LENGTH):
        slots = array(rolling_step(position).new_slots)[:, 2].reshape(SENTENCES, BEAMS, HEADS)
        expected = position % LENGTH * BEAMS + np.arange(BEAMS)
        np.testing.assert_array_equal(slots, np.tile(expected[:, None], (SENTENCES, 1, HEADS)))


def test_a_rolling_cache_shows_the_newest_positions_of_each_hypothesis():
    positions = 3 * LENGTH
    visible = np.random.default_rng(1).random((SENTENCES, BEAMS, positions * BEAMS)) < 0.5
    of_positions = visible.reshape(SENTENCES, BEAMS, positions, BEAMS)
    for position in range(positions):
        expected = np.zeros((SENTENCES, BEAMS, LENGTH, BEAMS), bool)
        for newest in range(max(0, position - LENGTH + 1), position + 1):
            expected[:, :, newest % LENGTH] = of_positions[:, :, newest]
        shown = array(rolling_step(position, ops.array(visible)).visible)[:, 0]
        np.testing.assert_array_equal(shown, expected.reshape(SENTENCES, BEAMS, -1))


def test_without_a_mask_each_beam_sees_all_its_slots_of_a_full_rolling_cache():
    own = np.arange(LENGTH * BEAMS) % BEAMS == np.arange(BEAMS)[:, None]
    np.testing.assert_array_equal(array(rolling_step(LENGTH + 1).visible)[0, 0], own)


def test_an_extended_array_ends_in_zeros():
    np.testing.assert_array_equal(array(extended(ops.ones((1, 2)), 1, 4)), [[1, 1, 0, 0]])
