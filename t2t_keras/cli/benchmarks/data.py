"""Batches from prepared data: tokens a second, and how long the first batch takes."""

from absl import flags

from pipelines.batch_plan import BatchPlan
from pipelines.id_store import IdStore
from t2t_keras.cli.benchmarks.timing import ROUNDS, medians_of
from t2t_keras.cli.main import CONFIG

DATA = flags.DEFINE_string("data", None, "data: a folder that t2t-prepare made.")
STEPS = flags.DEFINE_integer("steps", 200, "data: batches in a round.", lower_bound=1)
LATE_STEP = 100_000


def measure():
    from pipelines.dataset import dataset  # loads TensorFlow, which the others do without

    if not DATA.value:
        raise ValueError("--data=FOLDER is needed: what t2t-prepare made")
    store = IdStore.read(DATA.value)
    config = CONFIG.value.data.batches
    config.validate()

    def planned():
        return BatchPlan(store.lengths + 1, config, seed=1)

    def read(start_step, steps):
        """Planning, reading, padding and handing over, as a training does it."""
        plan = planned()
        for inputs, labels in dataset(store, plan, start_step, steps):
            inputs["source"].numpy(), labels.numpy()

    def real_tokens():
        plan = planned()
        chosen = (plan.batch(step)[0] for step in range(STEPS.value))
        return sum(int(plan.lengths[examples].sum()) for examples in chosen)

    first, late, many = medians_of(
        [lambda: read(0, 1), lambda: read(LATE_STEP, 1), lambda: read(0, STEPS.value)], ROUNDS.value
    )
    tokens = real_tokens()
    print(f"{DATA.value}: {len(store):,} pairs, medians of {ROUNDS.value} rounds")
    print(f"{tokens / many:>12,.0f} real tokens a second, both sides, planning included")
    print(f"{first:>12.3f} s to the first batch of a run that starts at step 0")
    print(f"{late:>12.3f} s to the first batch of a run that starts at step {LATE_STEP:,}")
