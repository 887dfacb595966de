"""t2t-average: writes the mean of a run's last checkpoints (§6.1: 5, or 20 for the big model).

t2t-average runs/mine              averages the last 5 and writes runs/mine/averaged.npz
t2t-average runs/mine --last=20    averages the last 20 (--config.training.keep=20)

Only checkpoints that were saved one after another are averaged: an old one that was kept because it
is the best does not count. t2t-train keeps the averages until it takes further steps. The averages
become the run's default weights, also if others were chosen when training ended. Exports in the
run's folder that contain the earlier default weights are written again.
"""

import contextlib

from absl import flags

from t2t_keras.cli.flags.shared_flags import opened_run, shared_flags
from t2t_keras.cli.main import positional

EXPORT, *_ = shared_flags("export", "imports", "trust")

LAST = flags.DEFINE_integer("last", 5, "Number of last checkpoints to average.", lower_bound=1)


def main(arguments):
    trained = opened_run(*positional(arguments))
    before = {}
    with contextlib.suppress(ValueError):  # a damaged file is replaced
        before = trained.averaged.record() or {}
    steps = trained.average(LAST.value)
    print(f"{trained.averaged_weights}: steps {', '.join(f'{step:,}' for step in steps)}")
    if before.get("chosen", "averaged") != "averaged":
        print(
            "They are now the run's default weights, in place of the weights of step "
            f"{int(before['chosen']):,}. t2t-train compares them again"
        )
    if EXPORT.value:
        trained.renew_exports(print)
