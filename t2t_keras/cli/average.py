"""t2t-average: the mean of a run's last checkpoints (§6.1: 5, or 20 for the big model).

t2t-average runs/mine                 the last 5, into runs/mine/averaged.weights.h5
t2t-average runs/mine --last=20       more than 5 only if t2t-train was told to keep them,
                                      --config.training.keep=20
"""

from absl import flags

from t2t_keras.cli.main import run
from t2t_keras.runs.run import Run

LAST = flags.DEFINE_integer("last", 5, "How many checkpoints.", lower_bound=1)


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(f"takes one run's folder. Received: {' '.join(arguments) or 'none'}")
    _, steps = Run(arguments[0]).average(LAST.value)
    print(f"{arguments[0]}/averaged.weights.h5: steps {', '.join(f'{step:,}' for step in steps)}")


def entry():
    run(main)


if __name__ == "__main__":
    entry()
