"""Times batches from prepared data: tokens per second, and seconds to the first batch."""

from absl import flags

from t2t_keras.cli.benchmarks.train import ROUNDS
from t2t_keras.cli.flags.config_flag import CONFIG

DATA = flags.DEFINE_string("data", None, "data: folder written by t2t-prepare, or a mix.")
STEPS = flags.DEFINE_integer("steps", 200, "data: batches per round.", lower_bound=1)
FLAGS = (DATA, STEPS, ROUNDS)
LATE_STEP = 100_000


def measure():
    if not DATA.value:
        raise ValueError("--data must be a folder written by t2t-prepare. Received: none")
    from pipelines.batches.batch_plan import BatchPlan
    from pipelines.batches.corpora import read_corpora
    from pipelines.batches.dataset import dataset
    from t2t_keras.reproduction.timing import median_seconds

    store, _, mix, _ = read_corpora(DATA.value)
    config = CONFIG.value.data.batches

    def read(start_step, steps):
        """Plans, reads, pads and fetches batches, as training does; returns the plan."""
        plan = BatchPlan(store.lengths + 1, config, seed=1, mix=mix)
        for inputs, labels in dataset(store, plan, start_step, steps):
            inputs["source"].numpy(), labels.numpy()
        return plan

    first, late, many = median_seconds(
        [lambda: read(0, 1), lambda: read(LATE_STEP, 1), lambda: read(0, STEPS.value)], ROUNDS.value
    )
    tokens = sum(map(read(0, 1).tokens, range(STEPS.value)))
    print(f"{DATA.value}: {len(store):,} pairs, medians of {ROUNDS.value} rounds")
    print(f"{tokens / many:>12,.0f} real tokens per second on both sides, including planning")
    for seconds, step in ((first, 0), (late, LATE_STEP)):
        print(f"{seconds:>12.3f} s to the first batch of a run that starts at step {step:,}")
