"""The flag of a run that is there already, which tables 2 and 4 only evaluate."""

from absl import flags

from t2t_keras.reproduction.recipes import DIVIDE, DIVIDE_LAYERS, REDUCED, STEPS, overrides
from t2t_keras.runs.run import Run

RUN = flags.DEFINE_string("run", None, "table2, table4: evaluate this run, and train none.")


def given_run(*of_training):
    """The run of --run, or None; with it nothing is trained, nor may be said how.

    Args:
        *of_training: the table's own flags that only a training would look at.
    """
    if not RUN.value:
        return None
    for flag in (STEPS, DIVIDE, DIVIDE_LAYERS, REDUCED, *of_training):
        if flag.value:
            raise ValueError(
                f"--{flag.name} is for training, and --run={RUN.value} was trained: give one of "
                "them"
            )
    for name in overrides():
        if not name.startswith("search."):
            raise ValueError(
                f"--config.{name} is for training, and --run={RUN.value} was trained: with it only "
                "--config.search.* can be changed"
            )
    run = Run(RUN.value)
    run.experiment()  # says what is wrong with it
    return run
