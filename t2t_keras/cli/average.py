"""t2t-average: the mean of a run's last checkpoints (§6.1: 5, or 20 for the big model).

t2t-average runs/mine                 the last 5, into runs/mine/averaged.weights.h5
t2t-average runs/mine --last=20       more than 5 only if t2t-train was told to keep them,
                                      --config.training.keep=20
"""

from absl import flags

from t2t_keras.cli.main import run
from t2t_keras.cli.runs import Run
from t2t_keras.training.checkpoints import Checkpoints, average, restore

LAST = flags.DEFINE_integer("last", 5, "How many checkpoints.", lower_bound=1)


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(f"takes one run's folder. Received: {' '.join(arguments) or 'none'}")
    _, steps = average_run(Run(arguments[0]), LAST.value)
    print(f"{arguments[0]}/averaged.weights.h5: steps {', '.join(f'{step:,}' for step in steps)}")


def average_run(run, last):
    """Writes the averaged weights of a run; returns them as arrays, and the steps they are of."""
    experiment = run.experiment()
    weights, steps = average(Checkpoints(run.folder / "checkpoints"), last)
    model = experiment.new_model()
    restore(model, weights)
    unfinished = run.folder / "unfinished.weights.h5"
    model.save_weights(unfinished)
    unfinished.rename(run.averaged_weights)
    return weights, steps


def entry():
    run(main)


if __name__ == "__main__":
    entry()
