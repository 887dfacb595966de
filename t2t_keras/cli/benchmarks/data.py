"""Times batches from prepared data: tokens per second, and seconds to the first batch."""

from absl import flags

from t2t_keras.cli.benchmarks.train import ROUNDS
from t2t_keras.cli.flags.config_flag import CONFIG

DATA = flags.DEFINE_string("data", None, "data: folder written by t2t-prepare, or a mix.")
STEPS = flags.DEFINE_integer("steps", 200, "data: batches per round.", lower_bound=1)
FLAGS, READS_CONFIG = (DATA, STEPS, ROUNDS), True
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
    config.validate()

    def new_plan():
        return BatchPlan(store.all_lengths + 1, config, seed=1, mix=mix)

    def read(start_step, steps):
        """Plans, reads, pads and fetches batches, as training does."""
        plan = new_plan()
        for inputs, labels in dataset(store, plan, start_step, steps):
            inputs["source"].numpy(), labels.numpy()

    def real_tokens():
        plan = new_plan()
        return sum(map(plan.tokens, range(STEPS.value)))

    first, late, many = median_seconds(
        [lambda: read(0, 1), lambda: read(LATE_STEP, 1), lambda: read(0, STEPS.value)], ROUNDS.value
    )
    tokens = real_tokens()
    print(f"{DATA.value}: {len(store):,} pairs, medians of {ROUNDS.value} rounds")
    print(f"{tokens / many:>12,.0f} real tokens per second on both sides, including planning")
    print(f"{first:>12.3f} s to the first batch of a run that starts at step 0")
    print(f"{late:>12.3f} s to the first batch of a run that starts at step {LATE_STEP:,}")
