"""t2t-train: trains a Transformer, or resumes an interrupted run.

t2t-train                                                  the quick start: a toy model in minutes
t2t-train --config=base --data=data/ende --run=runs/ende --dev_source=dev.en --dev_target=dev.de
t2t-train --run=runs/ende --config.training.accumulate=8   resumes that run, with less memory
t2t-train --config=base --show                             all settings and what they mean
t2t-train --sweep=training.learning_rate=1e-3,3e-3 --sweep=model.dropout=0.1,0.3 --seeds=2 \\
    --run=runs/rates                                       eight runs, and a table of them
t2t-train --init=runs/general --data=data/mine --run=runs/mine
t2t-train --init=runs/general --data=data/general:1,data/mine:4 --run=runs/mine \\
    --dev=general=dev.en,dev.de --dev=mine=mine.en,mine.de

SIGTERM and Ctrl-C finish the current step and save a checkpoint. The same command resumes from the
newest checkpoint, and so does --run alone: a run is resumed with its own settings, except for the
given flags. Each setting that changes is printed.

All visible GPUs are used. If TF_CONFIG is set, several machines train together: each runs the same
command and needs the same data and run folders.
"""

import copy
import csv
import shlex
import sys
from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.config_flag import CONFIG, LOADED, config_loader, set_field
from t2t_keras.cli.flags.shared_flags import define_list, not_with, shared_flag, trust_given
from t2t_keras.cli.help_text import text_width
from t2t_keras.cli.main import command_line, positional, show_info, will_resume
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.cli.process.resources import keep_cpu_memory, memory_advice
from t2t_keras.cli.settings_text import settings_text

TRUST = shared_flag("trust")
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
    "dropout. Default: random weights.",
)
FREEZE = define_list(
    "freeze",
    None,
    "Comma-separated layers that are not trained, such as encoder,embedding. Default: none.",
)
EXPORT = flags.DEFINE_bool(
    "export", True, "Write a SavedModel and a model for LiteRT when training ends."
)
SWEEP = flags.DEFINE_multi_string(
    "sweep",
    None,
    "Setting with several values, SETTING=VALUE,VALUE. A run is trained with each of them, one "
    "after another, and all runs are compared. Repeat the flag for each combination with the "
    'values of other settings. A value with commas is written in quotation marks, "a,b". The runs '
    "are in the folder --run. They are exported only with --export.",
)
SEEDS = flags.DEFINE_integer(
    "seeds", 1, "Number of random seeds with which each run of --sweep is trained.", lower_bound=1
)
TPU = flags.DEFINE_string(
    "tpu", None, "Name of a Cloud TPU, or 'local' on the TPU's own machine. Default: no TPU."
)
SHOW = flags.DEFINE_bool(
    "show",
    False,
    "Print all settings, with values, defaults and meanings, instead of training. No folder is "
    "written.",
)
SET_BY = {
    "data.folder": DATA,
    "data.dev_source": DEV_SOURCE,
    "data.dev_target": DEV_TARGET,
    "data.dev": DEV,
    "training.freeze": FREEZE,
}  # {setting: the flag that sets it}

TO_CHANGE_DEPTH = (
    ", and choose layers with --config.training.init_encoder_layers=0,2,4 and "
    "--config.training.init_decoder_layers=0,2,4"
)
LESS_MEMORY = (
    "Split each batch with --config.training.accumulate=2, or more: the results are the same. Or "
    "choose smaller batches (--config.data.batches.tokens) or a smaller model. Checkpoints are "
    "kept: t2t-train --run={run} with this flag resumes from the newest one"
)

not_with(SHOW, TPU, EXPORT, SWEEP, SEEDS)


def main(arguments):
    positional(arguments, 0, "flags only")
    experiment = CONFIG.value
    if SHOW.value:
        show_settings(experiment)
        return
    will_resume()
    show_info("%(asctime)s  %(message)s")  # as the console's lines of steps
    set_from_flags(experiment)
    if DATA.present and not RUN.present:
        raise ValueError("--run=FOLDER is required with --data: the folder of the run")
    keep_cpu_memory()
    load_backend()
    init = initial_folder()
    if is_sweep():
        train_sweep(experiment, init)
        return
    from t2t_keras.runs import train

    with memory_advice(LESS_MEMORY.format(run=shlex.quote(RUN.value))):
        result = train(
            *(experiment, RUN.value, TPU.value, EXPORT.value, sys.argv),
            **{"show": print, "init": init, "given": tuple(LOADED.overrides)},
        )
    if result.stopped:
        end = f"step {result.step:,} is saved. Run the same command to resume"
        if result.finished:
            end = f"training ends at step {result.step:,}"
        print(f"{result.stopped}: {end}", file=sys.stderr)
    if result.finished and result.is_chief:
        print(next_commands(RUN.value, experiment.data.folder))


def is_sweep():
    return bool(SWEEP.value) or SEEDS.value > 1


def train_sweep(experiment, init):
    """Trains the runs of --sweep and --seeds, and prints the table that compares them."""
    settings = {}
    for argument in SWEEP.value or ():
        name, _, text = argument.partition("=")
        arguments = [f"--config.{name}={value}" for value in next(csv.reader([text]), [])]
        if not arguments or name in settings:
            raise ValueError(
                "--sweep must be SETTING=VALUE,VALUE, once for each setting. "
                f"Received: --sweep={argument}"
            )
        settings[name] = [set_field(copy.deepcopy(experiment), each)[1] for each in arguments]
    from t2t_keras.runs import sweep

    given = [flag.serialize() for flag in (TPU, TRUST) if flag.value]
    export = "--export" if EXPORT.present and EXPORT.value else "--noexport"
    options = {"init": init, "flags": [export, *given], "notes": [f"Command: `{command_line()}`"]}
    print(sweep(experiment, RUN.value, settings, SEEDS.value, **options), end="")


def show_settings(experiment):
    """Prints the settings with which the same command without --show would train."""
    run_exists = (Path(RUN.value) / "config.json").exists()
    set_from_flags(experiment)
    if INIT.value or run_exists:
        from t2t_keras.runs import Run
        from t2t_keras.runs.training.initial_weights import inherit_settings, set_depth
        from t2t_keras.runs.training.train import initial_run

        if init := initial_folder():
            run = Run(RUN.value)
            initial = initial_run(run, init)
            known = (run if run_exists else initial).experiment()
            inherit_settings(experiment, known, tuple(LOADED.overrides))
            if not run_exists:
                set_depth(experiment, known)
    experiment.validate()
    print("All settings. In brackets: the default. --config.NAME=VALUE changes one.\n")
    print(settings_text(experiment, text_width()))
    if not run_exists:
        print("\nTraining sets model.vocab_size and source_vocab_size to the vocabulary's.")


def is_of_a_run():
    """Returns whether the settings come from a run, and not from a config."""
    return LOADED.name == "settings_of"


def set_from_flags(experiment):
    """Changes the settings that have their own flags."""
    data = experiment.data
    if is_of_a_run():  # the given held-out sets replace the run's
        if DEV.present:
            data.dev_source = data.dev_target = ""
        if DEV_SOURCE.present or DEV_TARGET.present:
            data.dev = ()
    for name, flag in SET_BY.items():
        part, _, field = name.partition(".")
        if (value := flag.value) is not None:
            value = tuple(value) if isinstance(value, list) else value
            setattr(getattr(experiment, part), field, value)
    if not data.folder and any(flag.value for flag in (DEV_SOURCE, DEV_TARGET, DEV)):
        raise ValueError(
            "--dev_source, --dev_target and --dev need --data=FOLDER, which t2t-prepare writes. "
            "Without --data, the built-in toy grammar is learned"
        )


def initial_folder():
    """Returns the run whose weights the training starts from, or None.

    A run that is resumed with a config starts from the same weights as before.
    """
    from t2t_keras.runs import Run

    init = INIT.value or (None if is_of_a_run() else Run(RUN.value).init())
    for name in LOADED.overrides if init else ():
        if name.startswith("model.") and not name.endswith("dropout"):
            raise ValueError(
                f"--config.{name}: the model's settings come from --init. Leave it out"
                f"{TO_CHANGE_DEPTH * name.endswith('layers')}"
            )
    return init


def next_commands(folder, data):
    """Returns lines with the commands that use a finished run, trained on the given data."""
    run, given = shlex.quote(folder), "type a sentence, or give a file with < text > translations"
    lines = {
        f"t2t-translate {run}": f"translate: {given}",
        f"t2t-serve {run}": "serve over HTTP, with a page at http://localhost:8501",
        f"t2t-report {run}": "write a page about the training",
        f"tensorboard --logdir={run}/logs": "show the learning curves",
        "t2t-prepare --help": "prepare text of your own",
    }
    if not any(Path(folder).glob("export*")):
        del lines[f"t2t-serve {run}"]
    if data:
        del lines["t2t-prepare --help"]
    width = max(map(len, lines))
    return "\n".join(["Next:", *(f"  {line:<{width}}   {what}" for line, what in lines.items())])


def default_config():
    """Returns the value of --config if it is not given."""
    folder = Path(RUN.value)
    if (folder / "config.json").exists():
        return f"settings_of:{folder}"
    return "finetune" if INIT.value else "quickstart"


def load_own_plugins():
    """Loads the plug-in files of a run to resume, before --imports and a config. Obeys --trust."""
    from t2t_keras.runs.plugins.plugin_files import load_plugins_of
    from t2t_keras.runs.run_folder import RunFolder

    if is_sweep() and not RUN.present:
        flags.FLAGS[RUN.name].value = "runs/sweep"
    run = RunFolder(RUN.value)
    trust_given([run.folder, INIT.value or run.init()])
    if run.config_file.exists():
        load_backend(on_jax=True)
        load_plugins_of(run.folder)


LOAD_CONFIG = config_loader(
    default_config,
    "the run's own settings if it exists; otherwise 'finetune' with --init, or 'quickstart'",
    load_own_plugins,
)
