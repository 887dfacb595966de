"""Batches of a plan whose sentences have several encodings."""

import numpy as np
import pytest

from pipelines.batches.batch_plan import BatchConfig, BatchPlan

NUMBER, EXAMPLES = 4, 3000


def random_lengths(seed=0):
    """Lengths `[encodings, examples, 2]`; those with dropout are longer."""
    random = np.random.default_rng(seed)
    plain = np.exp(random.normal(2.6, 0.5, (EXAMPLES, 2))).astype(int) + 1
    more = random.binomial(plain, 0.15, (NUMBER, EXAMPLES, 2))
    more[0] = 0
    return plain + more


LENGTHS = random_lengths()
CONFIG = BatchConfig(tokens=2000, max_length=50)


def new_plan(lengths=LENGTHS, seed=1, config=CONFIG):
    return BatchPlan(lengths, config, seed)


def epoch_of(plan, epoch=0):
    """Returns the examples and encodings of all batches in an epoch."""
    steps = range(epoch * plan.steps, (epoch + 1) * plan.steps)
    batches = [plan.batch(step) for step in steps]
    return tuple(np.concatenate([batch[part] for batch in batches]) for part in (0, 3))


def choices_of(plan, epoch=0):
    """Returns the encodings of each example in an epoch; −1 for those that are not in it."""
    choices = np.full((EXAMPLES, 2), -1)
    examples, encodings = epoch_of(plan, epoch)
    choices[examples] = encodings
    return choices


def test_an_epoch_has_nearly_every_pair_once_with_equally_likely_independent_encodings():
    plan, all_encodings = new_plan(), []
    fits = int((LENGTHS[0].max(axis=1) <= 50).sum())
    for epoch in range(4):
        examples, encodings = epoch_of(plan, epoch)
        assert len(np.unique(examples)) == len(examples)
        assert 0.98 * fits < len(examples) <= fits
        all_encodings += encodings.tolist()
    counts = np.bincount(np.array(all_encodings) @ [NUMBER, 1], minlength=NUMBER**2)
    np.testing.assert_allclose(counts / len(all_encodings), 1 / NUMBER**2, atol=0.012)


def test_batches_are_bucketed_by_the_lengths_of_the_chosen_encodings():
    plan, full = new_plan(), 0
    for step in range(2 * plan.steps):
        examples, width, rows, encodings = plan.batch(step)
        lengths = LENGTHS[encodings, examples[:, None], (0, 1)]
        assert lengths.max() <= width
        assert len(examples) <= rows and rows % 8 == 0 and rows * width <= 2000
        assert plan.tokens(step) == lengths.sum()
        full += len(examples) / rows
    assert full / (2 * plan.steps) > 0.98


def test_epochs_and_seeds_choose_different_encodings_independently_of_the_first_step():
    plan = new_plan()
    first, second, other = choices_of(plan), choices_of(plan, 1), choices_of(new_plan(seed=2))
    assert (first == second).mean() == pytest.approx(1 / NUMBER, abs=0.05)
    assert (first == other).mean() == pytest.approx(1 / NUMBER, abs=0.05)
    for step in (plan.steps - 1, plan.steps, 3 * plan.steps + 2):
        for found, expected in zip(new_plan().batch(step), plan.batch(step), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_encodings_that_are_too_long_are_replaced_by_the_one_without_dropout():
    lengths = LENGTHS.copy()
    lengths[1:] = 60
    plan, plain = new_plan(lengths), new_plan(LENGTHS[0])
    assert plan.too_long == plain.too_long > 0
    np.testing.assert_array_equal(plan.examples, plain.examples)
    assert not epoch_of(plan)[1].any()


def test_truncation_prefers_the_encoding_without_dropout():
    lengths = np.full((2, 64, 2), 10)
    lengths[1, :, 0] = 30
    lengths[:, 60:] = 40
    config = BatchConfig(tokens=400, max_length=20, too_long="truncate")
    plan = new_plan(lengths, config=config)
    assert plan.boundaries.tolist() == [10, 20]
    examples, encodings = epoch_of(plan)
    assert set(examples) >= set(range(60)) - {61}
    assert not encodings[:, 0].any() and encodings[:, 1].any()


def test_an_evaluation_uses_only_the_encodings_without_dropout():
    plan = new_plan(seed=None)
    examples, encodings = epoch_of(plan)
    assert sorted(examples) == list(range(EXAMPLES)) and not encodings.any()
    assert sum(map(plan.tokens, range(plan.steps))) == LENGTHS[0].sum()
