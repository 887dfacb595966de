"""t2t-benchmark: how long the parts of the package take on this machine.

t2t-benchmark attention                    full and restricted self-attention over n
t2t-benchmark attention --neighbourhood=129 --lengths=1024,2048
t2t-benchmark data --data=data/ende        batches from prepared data, tokens a second
t2t-benchmark decode --config=base --rows=32 --length=32     greedy and beam search, batch 1 and 32
t2t-benchmark train --config=base --rows=32 --length=32      a full training step

What is compared is timed in turn, round after round, so that a slower minute of the machine
falls on all of it; medians are printed.
"""

from t2t_keras.checks import check_choice
from t2t_keras.cli.benchmarks import attention, data, decode, train
from t2t_keras.cli.main import run

MEASURES = {
    "attention": attention.measure,
    "data": data.measure,
    "decode": decode.measure,
    "train": train.measure,
}


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(
            f"say what to measure: {' or '.join(MEASURES)}. Received: {' '.join(arguments)!r}"
        )
    check_choice("WHAT", arguments[0], MEASURES)
    MEASURES[arguments[0]]()


def entry():
    run(main, default_config="base")


if __name__ == "__main__":
    entry()
