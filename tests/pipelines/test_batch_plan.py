import itertools

import numpy as np
import pytest

from pipelines.batch_plan import BatchConfig, BatchPlan, best_boundaries


def lengths(count=5000, seed=0):
    random = np.random.default_rng(seed)
    common = random.normal(2.6, 0.6, (count, 1))
    return np.exp(common + random.normal(0, 0.2, (count, 2))).astype(int) + 1


def plan(seed=1, **settings):
    return BatchPlan(lengths(), BatchConfig(**{"tokens": 2000, "max_length": 60, **settings}), seed)


def rows_of(plan, steps):
    return [plan.batch(step) for step in steps]


@pytest.mark.parametrize("seed", range(20))
def test_boundaries_pad_least_of_all_choices(seed):
    random = np.random.default_rng(seed)
    longest, buckets = random.integers(1, 9, 30), int(random.integers(1, 5))
    present = np.unique(longest)

    def positions(boundaries):
        return sum(min(b for b in boundaries if b >= length) for length in longest)

    every_choice = [
        positions(choice)
        for size in range(1, buckets + 1)
        for choice in itertools.combinations(present, size)
        if choice[-1] == present[-1]
    ]
    found = best_boundaries(longest, buckets)
    assert len(found) <= buckets and found == sorted(set(found))
    assert positions(found) == min(every_choice)


def test_every_example_stands_once_in_an_epoch_but_for_what_is_counted():
    planned = plan()
    for epoch in range(2):
        batches = rows_of(planned, range(epoch * planned.steps, (epoch + 1) * planned.steps))
        seen = np.concatenate([examples for examples, _, _ in batches])
        assert len(np.unique(seen)) == len(seen)
        assert len(seen) == 5000 - planned.too_long - planned.left_over
    assert planned.too_long == (lengths().max(axis=1) > 60).sum() > 0
    assert planned.left_over < planned.rows[-1]


def test_a_batch_fits_its_width_and_its_budget():
    planned = plan()
    for examples, width, rows in rows_of(planned, range(planned.steps)):
        assert len(examples) == rows
        assert rows % 8 == 0 and rows * width <= 2000
        assert lengths()[examples].max() <= width
    assert len({width for _, width, _ in rows_of(planned, range(planned.steps))}) <= 10


def test_batch_s_is_the_same_wherever_one_begins():
    planned = plan()
    steps = range(3 * planned.steps)
    expected = rows_of(planned, steps)
    for start in (0, 1, planned.steps - 1, planned.steps, 2 * planned.steps + 3):
        fresh = plan()
        for step in range(start, min(start + 4, len(steps))):
            np.testing.assert_array_equal(fresh.batch(step)[0], expected[step][0])


def test_epochs_and_seeds_differ_in_order_and_in_company():
    planned, other = plan(), plan(seed=2)
    first, second = planned.batch(0)[0], planned.batch(planned.steps)[0]
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other.batch(0)[0])
    # Not only the order of batches changes: who is together in a batch does too.
    assert {frozenset(b[0].tolist()) for b in rows_of(planned, range(planned.steps))}.isdisjoint(
        frozenset(b[0].tolist()) for b in rows_of(planned, range(planned.steps, 2 * planned.steps))
    )


def test_evaluation_leaves_nobody_out_and_is_in_order():
    planned = plan(seed=None)
    batches = rows_of(planned, range(planned.steps))
    seen = np.concatenate([examples for examples, _, _ in batches])
    assert len(seen) == 5000 == len(np.unique(seen))
    assert planned.left_over == 0
    assert (np.diff(lengths()[seen].max(axis=1)) >= 0).all()
    assert all(len(examples) <= rows for examples, _, rows in batches)


def test_nobody_is_left_over_every_time():
    planned = BatchPlan(np.full((21, 2), 5), BatchConfig(tokens=100, max_length=10), seed=1)
    assert planned.left_over == 5
    seen = [set(planned.batch(s)[0]) | set(planned.batch(s + 1)[0]) for s in range(0, 40, 2)]
    assert set.union(*seen) == set(range(21))


def test_the_batches_of_a_bucket_are_about_as_large_as_each_other():
    """Else the rest of a bucket would be padded to the next one's width."""
    planned = BatchPlan(
        np.repeat([[5, 5], [10, 10]], [250, 100], axis=0),
        BatchConfig(tokens=1000, max_length=50),
        seed=1,
    )
    # 250 rows do not fit into one batch of 200, but into two of 120; what is left goes up.
    assert planned.boundaries.tolist() == [5, 10]
    assert planned.rows.tolist() == [120, 48]
    assert planned.batches_of.tolist() == [2, 2]
    assert planned.left_over == 350 - 2 * 120 - 2 * 48


def test_longer_examples_are_dropped_or_cut_and_counted():
    long = np.array([[3, 4]] * 16 + [[30, 5]] * 8)
    config = BatchConfig(tokens=400, max_length=20)
    dropped = BatchPlan(long, config, seed=1)
    assert dropped.too_long == 8 and dropped.boundaries.tolist() == [4]
    cut = BatchPlan(long, BatchConfig(tokens=400, max_length=20, too_long="truncate"), seed=1)
    assert cut.too_long == 8 and cut.boundaries.tolist() == [4, 20]
    assert sorted(np.concatenate([cut.batch(s)[0] for s in range(cut.steps)])) == list(range(24))


def test_an_evaluation_keeps_even_what_is_too_long_for_training():
    long = np.array([[3, 4]] * 16 + [[300, 5]] * 9)
    planned = BatchPlan(long, BatchConfig(tokens=400, max_length=20), seed=None)
    assert planned.boundaries.tolist() == [4, 300]
    batches = rows_of(planned, range(planned.steps))
    assert sorted(np.concatenate([examples for examples, _, _ in batches])) == list(range(25))


def test_the_share_of_real_tokens_is_counted_on_the_batches():
    planned = plan()
    real = positions = 0
    for examples, width, rows in rows_of(planned, range(planned.steps)):
        real += lengths()[examples].sum()
        positions += 2 * width * rows
    assert planned.share_of_real_tokens() == pytest.approx(real / positions)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"too_long": "cut"}, "`too_long` must be one of 'drop', 'truncate'"),
        ({"tokens": 100, "max_length": 60}, "`tokens` must be at least multiple · max_length"),
        ({"buckets": 0}, "`buckets` must be a whole number"),
        ({"max_length": 2.5}, "`max_length` must be a whole number"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        BatchConfig(**settings)


@pytest.mark.parametrize(
    ("lengths", "seed", "message"),
    [
        ([[3, 0]], 1, "each at least 1: those of the id store and one more"),
        ([3, 4], 1, r"must be \[examples, 2\].* Received: lengths of shape \(2,\)"),
        ([[3, 4]], -1, "`seed` must be a whole number of at least 0. Received: seed=-1"),
    ],
)
def test_wrong_arguments_are_named(lengths, seed, message):
    with pytest.raises(ValueError, match=message):
        BatchPlan(lengths, seed=seed)


def test_a_corpus_that_fills_no_batch_is_refused():
    with pytest.raises(ValueError, match=r"3 examples do not fill one batch, .* multiple of 8"):
        BatchPlan(np.full((3, 2), 5), seed=0)
    with pytest.raises(ValueError, match="No example is at most max_length=4 long"):
        BatchPlan(np.full((3, 2), 5), BatchConfig(max_length=4), seed=0)
