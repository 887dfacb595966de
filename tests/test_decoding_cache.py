"""The bookkeeping of decoding: slots, masks and the two layouts of a step's arrays."""

import numpy as np
from keras import ops
from support.models.helpers import array

from t2t_keras.decoding_cache import KeysValues, decoding_step, extended

SENTENCES, BEAMS, LENGTH, HEADS, D_K, D_V = 2, 3, 4, 2, 5, 6


def step_at(position, visible=None, rolling=False):
    shape = SENTENCES, HEADS, LENGTH * BEAMS
    cache = KeysValues(*(ops.zeros((*shape, width)) for width in (D_K, D_V)))
    return cache, decoding_step(cache, position, BEAMS, visible, rolling)


def test_beam_b_writes_position_p_to_slot_p_times_beams_plus_b():
    cache, step = step_at(position=2)
    rows = np.random.default_rng(0).normal(size=(SENTENCES, BEAMS, HEADS, D_K + D_V))
    rows = rows.astype("float32")
    written = step.write(
        cache,
        ops.reshape(ops.array(rows[..., :D_K]), (-1, D_K)),
        ops.reshape(ops.array(rows[..., D_K:]), (-1, D_V)),
    )
    of_position = slice(2 * BEAMS, 3 * BEAMS)
    for found, expected in ((written.keys, rows[..., :D_K]), (written.values, rows[..., D_K:])):
        found = array(found)
        np.testing.assert_array_equal(found[:, :, of_position], expected.swapaxes(1, 2))
        assert np.count_nonzero(found) == expected.size


def test_heads_are_split_and_joined_again():
    _, step = step_at(position=0)
    rows = np.arange(SENTENCES * BEAMS * HEADS * D_K, dtype="float32")
    rows = rows.reshape(SENTENCES, BEAMS, HEADS, D_K)
    flat = ops.array(rows.reshape(SENTENCES * BEAMS, HEADS * D_K))
    heads = step.split_heads(flat, HEADS)
    np.testing.assert_array_equal(array(heads), rows.swapaxes(1, 2))
    np.testing.assert_array_equal(array(step.join_heads(heads)), array(flat))


def test_each_beam_sees_its_own_slots_up_to_the_position_or_the_given_ones():
    own = np.arange(LENGTH * BEAMS) % BEAMS == np.arange(BEAMS)[:, None]
    expected = own & (np.arange(LENGTH * BEAMS) < 2 * BEAMS)
    np.testing.assert_array_equal(array(step_at(position=1)[1].visible)[0, 0], expected)
    np.testing.assert_array_equal(array(step_at(LENGTH + 1, rolling=True)[1].visible)[0, 0], own)
    visible = np.random.default_rng(1).random((SENTENCES, BEAMS, LENGTH * BEAMS)) < 0.5
    _, step = step_at(position=3, visible=ops.array(visible))
    np.testing.assert_array_equal(array(step.visible)[:, 0], visible)


def test_a_rolling_cache_shows_the_newest_positions_of_each_hypothesis():
    """The newest position overwrites the oldest one."""
    positions = 3 * LENGTH
    visible = np.random.default_rng(1).random((SENTENCES, BEAMS, positions * BEAMS)) < 0.5
    of_positions = visible.reshape(SENTENCES, BEAMS, positions, BEAMS)
    for position in range(positions):
        _, step = step_at(position, ops.array(visible), rolling=True)
        slots = array(step.new_slots)[:, 2].reshape(SENTENCES, BEAMS, HEADS)
        expected = position % LENGTH * BEAMS + np.arange(BEAMS)
        np.testing.assert_array_equal(slots, np.tile(expected[:, None], (SENTENCES, 1, HEADS)))
        expected = np.zeros((SENTENCES, BEAMS, LENGTH, BEAMS), bool)
        for newest in range(max(0, position - LENGTH + 1), position + 1):
            expected[:, :, newest % LENGTH] = of_positions[:, :, newest]
        shown = array(step.visible)[:, 0]
        np.testing.assert_array_equal(shown, expected.reshape(SENTENCES, BEAMS, -1))


def test_an_extended_array_ends_in_zeros():
    np.testing.assert_array_equal(array(extended(ops.ones((1, 2)), 1, 4)), [[1, 1, 0, 0]])
