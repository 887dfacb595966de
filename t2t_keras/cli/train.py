"""t2t-train: trains a Transformer, or resumes an interrupted run.

t2t-train                                                  the quick start: a toy model in minutes
t2t-train --config=base --data=data/ende --run=runs/ende --dev_source=dev.en --dev_target=dev.de
t2t-train --config=base --data=data/ende --run=runs/ende --config.training.accumulate=8
t2t-train --init=runs/general --data=data/mine --run=runs/mine
t2t-train --init=runs/general --data=data/general:1,data/mine:4 --run=runs/mine \
    --dev=general=dev.en,dev.de --dev=mine=mine.en,mine.de

SIGTERM and Ctrl-C finish the current step and save a checkpoint. The same command resumes from the
newest checkpoint. All visible GPUs are used. If TF_CONFIG is set, several machines train together:
each runs the same command and needs the same data and run folders.
"""

import sys

from absl import flags

from t2t_keras.cli.backend import load_backend
from t2t_keras.cli.config_flag import CONFIG, run_with_config
from t2t_keras.cli.cpu_memory import keep_cpu_memory
from t2t_keras.cli.main import no_arguments, show_info, will_resume

RUN = flags.DEFINE_string("run", "runs/quickstart", "Folder of the run, new or to resume.")
DATA = flags.DEFINE_string(
    "data",
    None,
    "Folder written by t2t-prepare, or a mix of several with the shares of their sentence pairs: "
    "general:1,mine:4. Without the numbers, every pair is seen equally often. Default: the "
    "built-in toy grammar.",
)
DEV_SOURCE = flags.DEFINE_string(
    "dev_source", None, "Text file with the sources of the held-out pairs, one per line."
)
DEV_TARGET = flags.DEFINE_string(
    "dev_target", None, "Text file with the reference translations of --dev_source."
)
DEV = flags.DEFINE_multi_string(
    "dev",
    None,
    "Held-out set with a name, NAME=SOURCE,TARGET, in place of --dev_source and --dev_target. "
    "Repeat the flag for several sets; the first is the main one.",
)
INIT = flags.DEFINE_string(
    "init",
    None,
    "Run whose weights the training starts from. The model has that run's settings, except for "
    "dropout. --config is then 'finetune' by default. Default: random weights.",
)
FREEZE = flags.DEFINE_list(
    "freeze",
    None,
    "Comma-separated layers that are not trained, such as encoder,embedding. Default: none.",
)
EXPORT = flags.DEFINE_bool("export", True, "Write a SavedModel when training ends.")
TPU = flags.DEFINE_string(
    "tpu", None, "Name of a Cloud TPU, or 'local' on the TPU's own machine. Default: no TPU."
)


def main(arguments):
    no_arguments(arguments)
    will_resume()
    show_info()
    experiment = CONFIG.value
    for flag, name in ((DATA, "folder"), (DEV_SOURCE, "dev_source"), (DEV_TARGET, "dev_target")):
        if flag.value is not None:
            setattr(experiment.data, name, flag.value)
    if DEV.value is not None:
        experiment.data.dev = tuple(DEV.value)
    if FREEZE.value is not None:
        experiment.training.freeze = tuple(FREEZE.value)
    if INIT.value:
        check_overrides(sys.argv)
    keep_cpu_memory()
    load_backend()
    from t2t_keras.runs import train

    folder, init = RUN.value, INIT.value
    result = train(experiment, folder, TPU.value, EXPORT.value, sys.argv, show=print, init=init)
    if result.finished and result.stopped:
        print(f"{result.stopped}: training ends at step {result.step:,}", file=sys.stderr)
    elif result.stopped:
        print(
            f"{result.stopped}: step {result.step:,} is saved. Run the same command to resume",
            file=sys.stderr,
        )
    if result.finished and result.is_chief:
        print(next_commands(RUN.value))


def check_overrides(argv):
    """Rejects changes to settings that come from the run to start from."""
    for argument in argv:
        name = argument.lstrip("-").partition("=")[0]
        if name.startswith("config.model.") and not name.endswith("dropout"):
            raise ValueError(f"--{name}: the model's settings are those of --init. Leave it out")


NEXT = {
    "t2t-translate {run}": "translate: type a sentence, or give a file with < text > translations",
    "t2t-serve {run}": "serve over HTTP, with a page at http://localhost:8501",
    "t2t-report {run}": "write a page about the training",
    "t2t-average {run} --last=3": "average a different number of checkpoints",
    "tensorboard --logdir={run}/logs": "show the learning curves",
    "t2t-prepare --help": "prepare text of your own",
}


def next_commands(folder):
    """Returns lines with the commands that use a finished run."""
    lines = {command.format(run=folder): purpose for command, purpose in NEXT.items()}
    width = max(map(len, lines))
    return "\n".join(["Next:", *(f"  {line:<{width}}   {what}" for line, what in lines.items())])


def entry():
    names = [argument.lstrip("-").partition("=")[0] for argument in sys.argv[1:]]
    run_with_config(main, default="finetune" if "init" in names else "quickstart")


if __name__ == "__main__":
    entry()
