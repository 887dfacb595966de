"""Begins a training: creates the run's folder, or checks that an existing run may be resumed."""

import dataclasses
import shutil

from absl import logging

from pipelines.atomic_files import write_json
from pipelines.tokenizers import save_tokenizer
from t2t_keras.decoding.alignment import AlignmentHead
from t2t_keras.experiment import differences
from t2t_keras.guided_alignment import HEAD
from t2t_keras.runs.config_file import made_from, read_config
from t2t_keras.runs.plugins.plugin_files import FOLDER
from t2t_keras.runs.plugins.trained_plugins import adopt_plugins, copy_plugins
from t2t_keras.runs.run_folder import ALIGNMENT, RunFolder
from t2t_keras.runs.settings_file import check_same_model, write_settings
from t2t_keras.training.hardware.hardware_description import hardware_text, this_hardware


def begin(run, experiment, tokenizer, command=(), init=None, held_out=None):
    """Writes the vocabulary, plug-in files and settings of a run.

    A folder is a run once it has a config.json, which is written last. A vocabulary without
    it is from a killed process. In a run to resume, changes of settings are logged.

    The tokenizer has no tag. `init` is the folder of the run whose weights training starts from, or
    None, and `held_out` is {name of a held-out set: its number of pairs}.
    """
    plugins, facts = adopt_plugins(run, experiment), {}
    if run.config_file.exists():
        config, changed = read_config(run.config_file), differences(run.experiment(), experiment)
        changed.pop("imports", None)
        facts = {name: config[name] for name in ("init", "base", "hardware") if name in config}
        for name, (old, new) in changed.items():
            logging.info("%s: %r -> %r", name, old, new)
        if not changed:  # the recorded command, which made the settings, is more informative
            command = config["command"]
    else:
        shutil.rmtree(run.folder / "vocabulary", ignore_errors=True)
        save_tokenizer(tokenizer, run.folder / "vocabulary")
        if init:
            base = made_from(read_config(RunFolder(init).config_file))
            facts = {"init": str(init), "base": base}
    if experiment.training.guided_alignment and not (run.folder / ALIGNMENT).exists():
        write_json(run.folder / ALIGNMENT, {"head": dataclasses.asdict(AlignmentHead(head=HEAD))})
    if imports := copy_plugins(run, experiment, plugins):
        facts["imports"] = imports
    write_settings(run.config_file, experiment, command, held_out=held_out or {}, **facts)


def check_folder(run):
    """Rejects a folder with files that is not a run, and links that lead outside."""
    if run.config_file.exists():
        if system := read_config(run.config_file).get("imported"):
            raise ValueError(
                f"{run.folder} holds an imported model ({system}), without the state of its "
                "training, which cannot be resumed. Give the name of a new folder"
            )
        return
    if not run.folder.exists():
        return
    # A process that was killed while it created the run may have left unfinished files, and
    # t2t-distill has its own folder in the run.
    names = {path.name for path in run.folder.iterdir() if path.suffix != ".unfinished"}
    if others := names - {".lock", "vocabulary", ALIGNMENT, FOLDER, "distillation"}:
        raise ValueError(
            f"{run.folder} is not a run: it has no config.json, but other files "
            f"({', '.join(sorted(others)[:3])}). Give the name of a new folder"
        )


def check_unchanged(run, experiment, tokenizer):
    """Rejects settings and vocabularies that do not fit a run, which must exist."""
    check_same_model(run.config_file, experiment)
    if run.vocabulary().contents() != tokenizer.contents():
        raise ValueError(
            f"{run.folder} was started with a different vocabulary than the data has. Give the "
            "same data, or a different --run"
        )


def record_hardware(run, step, replicas=1, machines=1):
    """Adds this machine to the entry "hardware" of config.json when training begins.

    The entry is a list of the results of `this_hardware`, each with the step after which this
    hardware was used. A run that resumes on the same hardware does not get a second item.
    """
    hardware = this_hardware(replicas, machines)
    logging.info("Training on %s", hardware_text(hardware))
    config = read_config(run.config_file)
    # Items of this and later steps are from processes whose steps are repeated now.
    known = [each for each in config.get("hardware", []) if each["from_step"] < step]
    if not known or known[-1] != {"from_step": known[-1]["from_step"], **hardware}:
        known.append({"from_step": step, **hardware})
    if known != config.get("hardware"):
        write_json(run.config_file, config | {"hardware": known})
