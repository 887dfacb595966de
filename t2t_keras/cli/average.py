"""t2t-average: writes the mean of a run's last checkpoints (§6.1: 5, or 20 for the big model).

t2t-average runs/mine              averages the last 5 and writes runs/mine/averaged.npz
t2t-average runs/mine --last=20    averages the last 20 (--config.training.keep=20)

Only checkpoints that were saved one after another are averaged: an old one that was kept because it
is the best does not count. t2t-train keeps the averages until it takes further steps. The averages
become the run's default weights, also if others were chosen when training ended. All exports in the
run's folder that had its earlier default weights are written again.
"""

import contextlib

from absl import flags

from t2t_keras.cli.flags.shared_flags import (
    export_flag,
    imports_flag,
    load_imports,
    trust_flag,
    trust_given,
)
from t2t_keras.cli.main import one_run, run
from t2t_keras.cli.process.backend import load_backend

EXPORT = export_flag()
IMPORTS = imports_flag()
TRUST = trust_flag()

LAST = flags.DEFINE_integer("last", 5, "Number of last checkpoints to average.", lower_bound=1)


def main(arguments):
    folder = one_run(arguments)
    trust_given([folder])
    load_backend()
    load_imports(IMPORTS.value)
    from t2t_keras.runs import Run

    trained = Run(folder)
    before = {}
    with contextlib.suppress(ValueError):  # a damaged file is replaced
        before = trained.averaged.record() or {}
    steps = trained.average(LAST.value)
    print(f"{trained.averaged_weights}: steps {', '.join(f'{step:,}' for step in steps)}")
    if before.get("chosen", "averaged") != "averaged":
        print(
            "They are now the run's default weights, in place of those of step "
            f"{int(before['chosen']):,}. t2t-train compares them again"
        )
    if EXPORT.value:
        trained.renew_exports(print)


def entry():
    run(main)


if __name__ == "__main__":
    entry()
