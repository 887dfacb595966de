"""Measures the minutes from text files to a BLEU, as a row of a table that later work can lower."""

import datetime
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.config_flag import (
    CONFIG,
    IMPORTS,
    config_is,
    loaded_config,
    overrides,
)

SOURCE = flags.DEFINE_string("source", None, "headline: source text to train on.")
TARGET = flags.DEFINE_string("target", None, "headline: target text to train on.")
DEV_SOURCE = flags.DEFINE_string("dev_source", None, "headline: source text to evaluate on.")
DEV_TARGET = flags.DEFINE_string(
    "dev_target", None, "headline: reference translations of --dev_source."
)
BLEU = flags.DEFINE_float("bleu", 35.0, "headline: BLEU to reach on --dev_source.")
OUTPUT = flags.DEFINE_string(
    "output",
    None,
    "headline: new folder for the data, the run and the logs. Default: a temporary one, kept only "
    "after an error.",
)
TEXTS = (SOURCE, TARGET, DEV_SOURCE, DEV_TARGET)
FLAGS, READS_CONFIG = (*TEXTS, BLEU, OUTPUT), True
COLUMNS = "minutes", "of preparation", "BLEU", "step", "config", "commit", "machine", "date"
# Settings that this benchmark sets, so that BLEU is that of the whole held-out text.
OWN_SETTINGS = {
    *("data.folder", "data.toy_pairs", "data.dev_source", "data.dev_target", "data.dev"),
    "data.dev_pairs",
}


def measure():
    check_flags()
    from t2t_keras.cli.benchmarks.timed_training import time_to_bleu, work_folder

    name, (prepare, train) = config_text(), child_arguments()
    with work_folder(OUTPUT.value) as folder:
        try:
            result = time_to_bleu(folder, prepare, train, BLEU.value)
        except KeyboardInterrupt:
            print("headline: interrupted. A timing cannot be resumed", file=sys.stderr)
            sys.exit(130)
    cells = (
        *(f"{result.seconds / 60:.1f}", f"{result.preparing / 60:.1f}", f"{result.bleu:.2f}"),
        *(f"{result.step:,}", name, revision(), machine(), f"{datetime.date.today()}"),
    )
    for line in (COLUMNS, ["---"] * len(COLUMNS), cells):
        print(f"| {' | '.join(line)} |")
    print(f"\nTime to BLEU {BLEU.value:g}, greedy search on {DEV_SOURCE.value}: {result.signature}")


def check_flags():
    if missing := [f"--{flag.name}" for flag in TEXTS if not flag.value]:
        raise ValueError(f"headline needs text to train and to evaluate on: {', '.join(missing)}")
    for flag in TEXTS:
        if not Path(flag.value).is_file():
            raise ValueError(f"--{flag.name}: no such file. Received: {flag.value}")
    if config_is("base"):
        raise ValueError("headline needs a small --config, such as --config=multi30k:fast")
    if not 0 < BLEU.value < 100:
        raise ValueError(f"--bleu must be between 0 and 100. Received: --bleu={BLEU.value:g}")
    for setting in overrides():
        if setting in OWN_SETTINGS:
            raise ValueError(
                f"headline sets {setting} itself: --config.{setting} has no effect. Leave it out"
            )


def child_arguments():
    """Returns the arguments of t2t-prepare and of t2t-train, without their folders."""
    shared = [f"--config={flags.FLAGS[CONFIG.name].config_filename}"]
    shared += [f"--imports={path}" for path in IMPORTS.value or ()]
    changed = {name: f"--config.{name}={value}" for name, value in overrides().items()}
    of_data = [flag for name, flag in changed.items() if name.startswith("data.")]
    prepare = [*shared, *of_data, f"--source={SOURCE.value}", f"--target={TARGET.value}"]
    dev = [f"--dev_source={DEV_SOURCE.value}", f"--dev_target={DEV_TARGET.value}"]
    # The config may have a number of lines of its own.
    return prepare, [*shared, *changed.values(), *dev, "--config.data.dev_pairs=0"]


def config_text():
    """Returns the name of the config and its overrides, such as "multi30k:fast, …"."""
    _, name = loaded_config()
    changed = (f"{setting}={value}" for setting, value in overrides().items())
    return ", ".join([name.removeprefix("config "), *changed])


def machine():
    """Describes the machine: cores that may be used, processor, memory, accelerators."""
    from t2t_keras.training.hardware.hardware_description import hardware_text, this_hardware

    return hardware_text(this_hardware())


def revision():
    """Returns the commit of the checkout, "-dirty" if files are changed, or the version."""
    root = Path(__file__).parents[3]
    if (root / ".git").exists():
        command = [
            "git",
            "-C",
            root,
            "describe",
            "--always",
            "--dirty",
            "--abbrev=10",
            "--exclude=*",
        ]
        try:
            return subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).strip()
        except (OSError, subprocess.SubprocessError):  # no git, or a damaged repository
            pass
    return f"version {metadata.version('t2t-keras')}"
