import itertools

import numpy as np
import pytest

from pipelines.batches.batch_plan import BatchConfig, BatchPlan, best_boundaries

RANDOM = np.random.default_rng(0)
COMMON = RANDOM.normal(2.6, 0.6, (2000, 1))
LENGTHS = np.exp(COMMON + RANDOM.normal(0, 0.2, (2000, 2))).astype(int) + 1


def new_plan(seed=1, **settings):
    return BatchPlan(LENGTHS, BatchConfig(**{"tokens": 1000, "max_length": 60, **settings}), seed)


def epoch_of(plan, epoch=0):
    """Returns the batches of an epoch, and the examples in them."""
    batches = [plan.batch(step) for step in range(epoch * plan.steps, (epoch + 1) * plan.steps)]
    return batches, np.concatenate([examples for examples, *_ in batches])


@pytest.mark.parametrize("seed", range(10))
def test_boundaries_need_the_least_padding_of_all_choices(seed):
    random = np.random.default_rng(seed)
    longest, buckets = random.integers(1, 9, 30), int(random.integers(1, 5))
    present = np.unique(longest)

    def positions(boundaries):
        return sum(min(b for b in boundaries if b >= length) for length in longest)

    all_choices = [
        positions(choice)
        for size in range(1, buckets + 1)
        for choice in itertools.combinations(present, size)
        if choice[-1] == present[-1]
    ]
    boundaries = best_boundaries(np.bincount(longest), buckets)
    assert len(boundaries) <= buckets and boundaries == sorted(set(boundaries))
    assert positions(boundaries) == min(all_choices)


def test_an_epoch_holds_every_example_once_except_those_counted_as_left_out():
    plan = new_plan()
    for epoch in range(2):
        _, seen = epoch_of(plan, epoch)
        assert len(np.unique(seen)) == len(seen) == 2000 - plan.too_long - plan.left_over
    assert plan.too_long == (LENGTHS.max(axis=1) > 60).sum() > 0
    assert plan.left_over < plan.rows[-1]


def test_a_batch_respects_its_width_and_its_token_budget():
    plan, real, positions = new_plan(), 0, 0
    batches, _ = epoch_of(plan)
    for examples, width, rows, _ in batches:
        assert len(examples) == rows
        assert rows % 8 == 0 and rows * width <= 1000
        assert LENGTHS[examples].max() <= width
        real += LENGTHS[examples].sum()
        positions += 2 * width * rows
    assert len({width for _, width, *_ in batches}) <= 10
    assert plan.share_of_real_tokens() == pytest.approx(real / positions)


def test_batch_s_does_not_depend_on_the_first_step():
    plan = new_plan()
    expected = [plan.batch(step)[0] for step in range(3 * plan.steps)]
    for start in (0, 1, plan.steps - 1, plan.steps, 2 * plan.steps + 3):
        fresh = new_plan()
        for step in range(start, start + 4):
            np.testing.assert_array_equal(fresh.batch(step)[0], expected[step])


def test_epochs_and_seeds_differ_in_the_order_and_in_the_members_of_batches():
    plan = new_plan()
    first, second, other = epoch_of(plan), epoch_of(plan, 1), epoch_of(new_plan(seed=2))

    def groups(batches):
        return {frozenset(examples.tolist()) for examples, *_ in batches}

    for batches, order in (second, other):
        assert not np.array_equal(order[:50], first[1][:50])
        assert groups(batches).isdisjoint(groups(first[0]))


def test_an_evaluation_holds_every_example_in_the_order_of_lengths():
    plan = new_plan(seed=None)
    batches, seen = epoch_of(plan)
    assert len(seen) == 2000 == len(np.unique(seen))
    assert plan.left_over == plan.too_long == 0
    assert (np.diff(LENGTHS[seen].max(axis=1)) >= 0).all()
    assert all(len(examples) <= rows for examples, _, rows, _ in batches)


def test_a_bucket_is_divided_into_equal_batches():
    """A smaller last batch would move up to the next bucket and need more padding there."""
    lengths = np.repeat([[5, 5], [10, 10]], [250, 100], axis=0)
    plan = BatchPlan(lengths, BatchConfig(tokens=1000, max_length=50), seed=1)
    # 250 rows exceed one batch of 200, so there are two of 120, and 10 rows move up.
    assert plan.boundaries.tolist() == [5, 10]
    assert plan.rows.tolist() == [120, 48]
    assert plan.batches_of.tolist() == [2, 2]
    assert plan.left_over == 350 - 2 * 120 - 2 * 48


def test_longer_examples_are_dropped_or_truncated_and_counted_but_kept_in_evaluations():
    lengths = np.array([[3, 4]] * 16 + [[30, 5]] * 8)
    config = {"tokens": 400, "max_length": 20}
    dropped = BatchPlan(lengths, BatchConfig(**config), seed=1)
    assert dropped.too_long == 8 and dropped.boundaries.tolist() == [4]
    truncated = BatchPlan(lengths, BatchConfig(**config, too_long="truncate"), seed=1)
    assert truncated.too_long == 8 and truncated.boundaries.tolist() == [4, 20]
    evaluated = BatchPlan(10 * lengths - 20, BatchConfig(**config), seed=None)
    assert evaluated.boundaries.tolist() == [20, 280]
    for plan in (truncated, evaluated):
        assert sorted(epoch_of(plan)[1]) == list(range(24))


@pytest.mark.parametrize(
    ("lengths", "seed", "message"),
    [
        ([[5, 5]] * 3, 0, r"3 examples do not fill one batch, .* multiple of 8"),
        ([[600, 500]], 0, r"No example fits into max_length=\d+, .* length 600"),
    ],
)
def test_wrong_arguments_are_refused_by_name(lengths, seed, message):
    with pytest.raises(ValueError, match=message):
        BatchPlan(lengths, seed=seed)


NUMBER, EXAMPLES = 4, 3000


def random_lengths(seed=0):
    """Lengths `[encodings, examples, 2]`; those with dropout are longer."""
    random = np.random.default_rng(seed)
    plain = np.exp(random.normal(2.6, 0.5, (EXAMPLES, 2))).astype(int) + 1
    more = random.binomial(plain, 0.15, (NUMBER, EXAMPLES, 2))
    more[0] = 0
    return plain + more


SEVERAL = random_lengths()  # of several encodings


def several_plan(lengths=SEVERAL, seed=1, **settings):
    return BatchPlan(lengths, BatchConfig(**{"tokens": 2000, "max_length": 50, **settings}), seed)


def encodings_of(plan, epoch=0):
    """Returns the examples and encodings of all batches in an epoch."""
    batches, examples = epoch_of(plan, epoch)
    return examples, np.concatenate([encodings for *_, encodings in batches])


def choices_of(plan, epoch=0):
    """Returns the encodings of each example in an epoch; −1 for those that are not in it."""
    choices = np.full((EXAMPLES, 2), -1)
    examples, encodings = encodings_of(plan, epoch)
    choices[examples] = encodings
    return choices


def test_an_epoch_has_nearly_every_pair_once_with_equally_likely_independent_encodings():
    plan, all_encodings = several_plan(), []
    fits = int((SEVERAL[0].max(axis=1) <= 50).sum())
    for epoch in range(4):
        examples, encodings = encodings_of(plan, epoch)
        assert len(np.unique(examples)) == len(examples)
        assert 0.98 * fits < len(examples) <= fits
        all_encodings += encodings.tolist()
    counts = np.bincount(np.array(all_encodings) @ [NUMBER, 1], minlength=NUMBER**2)
    np.testing.assert_allclose(counts / len(all_encodings), 1 / NUMBER**2, atol=0.012)


def test_batches_are_bucketed_by_the_lengths_of_the_chosen_encodings():
    plan, full = several_plan(), 0
    for step in range(2 * plan.steps):
        examples, width, rows, encodings = plan.batch(step)
        lengths = SEVERAL[encodings, examples[:, None], (0, 1)]
        assert lengths.max() <= width
        assert len(examples) <= rows and rows % 8 == 0 and rows * width <= 2000
        assert plan.tokens(step) == lengths.sum()
        full += len(examples) / rows
    assert full / (2 * plan.steps) > 0.98


def test_epochs_and_seeds_choose_different_encodings_independently_of_the_first_step():
    plan = several_plan()
    first, second, other = choices_of(plan), choices_of(plan, 1), choices_of(several_plan(seed=2))
    assert (first == second).mean() == pytest.approx(1 / NUMBER, abs=0.05)
    assert (first == other).mean() == pytest.approx(1 / NUMBER, abs=0.05)
    for step in (plan.steps - 1, plan.steps, 3 * plan.steps + 2):
        for found, expected in zip(several_plan().batch(step), plan.batch(step), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_encodings_that_are_too_long_are_replaced_by_the_one_without_dropout():
    lengths = SEVERAL.copy()
    lengths[1:] = 60
    plan, plain = several_plan(lengths), several_plan(SEVERAL[0])
    assert plan.too_long == plain.too_long > 0
    np.testing.assert_array_equal(plan.examples, plain.examples)
    assert not encodings_of(plan)[1].any()


def test_truncation_prefers_the_encoding_without_dropout():
    lengths = np.full((2, 64, 2), 10)
    lengths[1, :, 0] = 30
    lengths[:, 60:] = 40
    plan = several_plan(lengths, tokens=400, max_length=20, too_long="truncate")
    assert plan.boundaries.tolist() == [10, 20]
    examples, encodings = encodings_of(plan)
    assert set(examples) >= set(range(60)) - {61}
    assert not encodings[:, 0].any() and encodings[:, 1].any()


def test_an_evaluation_uses_only_the_encodings_without_dropout():
    plan = several_plan(seed=None)
    examples, encodings = encodings_of(plan)
    assert sorted(examples) == list(range(EXAMPLES)) and not encodings.any()
    assert sum(map(plan.tokens, range(plan.steps))) == SEVERAL[0].sum()
