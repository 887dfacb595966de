"""Begins a training: creates the run's folder, or checks that an existing run may be resumed."""

import contextlib
import shutil

from absl import logging

from pipelines.atomic_files import atomic_folder, check_links, write_text
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from t2t_keras.experiment import differences
from t2t_keras.runs.config_file import made_from, read_config
from t2t_keras.runs.plugins.copied_plugins import adopt_plugins, copy_plugins
from t2t_keras.runs.plugins.plugin_files import FOLDER
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import check_same_model, languages_of_data, write_settings


def begin(run, experiment, vocabulary, command=(), init=None, held_out=None):
    """Creates the run's folder, or checks that an existing one has compatible settings.

    The model, the vocabulary and the seed of a run cannot change. Changes of other settings are
    logged.

    Args:
        run: the `Run`.
        experiment: an `Experiment`.
        vocabulary: folder of the sub-word model.
        command: command-line arguments.
        init: folder of the run whose weights training starts from, or None.
        held_out: {name of a held-out set: its number of pairs}.
    """
    check_folder(run)
    plugins = adopt_plugins(run, experiment)
    facts = {}
    run.folder.mkdir(parents=True, exist_ok=True)
    if run.config_file.exists():
        check_unchanged(run, experiment, vocabulary)
        config, changed = read_config(run.config_file), differences(run.experiment(), experiment)
        changed.pop("imports", None)
        facts = {name: config[name] for name in ("init", "base", "hardware") if name in config}
        if config.get("languages") and not languages_of_data(experiment.data.folder):
            facts["languages"] = config["languages"]
        for name, (old, new) in changed.items():
            logging.info("%s: %r -> %r", name, old, new)
        if not changed:  # the recorded command, which made the settings, is more informative
            command = config.get("command", command)
    else:
        for leftover in run.folder.glob("vocabulary.*.unfinished"):  # left by a killed process
            shutil.rmtree(leftover)
        with atomic_folder(run.folder / "vocabulary") as unfinished:
            save_tokenizer(load_tokenizer(vocabulary), unfinished)
        if init:
            base = made_from(read_config(RunFolder(init).config_file))
            facts = {"init": str(init), "base": base}
    if imports := copy_plugins(run, experiment, plugins):
        facts["imports"] = imports
    write_settings(run.config_file, experiment, command, held_out=held_out or {}, **facts)


def check_folder(run):
    """Rejects a folder with files that is not a run, and links that lead outside."""
    check_links(run.folder)
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
    if others := names - {".lock", "vocabulary", FOLDER, "distillation"}:
        raise ValueError(
            f"{run.folder} is not a run: it has no config.json, but other files "
            f"({', '.join(sorted(others)[:3])}). Give the name of a new folder"
        )


def join(run, experiment, vocabulary):
    """Checks that the first machine has created this run, with the same settings."""
    if not run.config_file.exists():
        raise ValueError(
            f"{run.folder} was created by the first machine of this job and is not visible "
            "here. All machines need the same folder under the same name"
        )
    adopt_plugins(run, experiment)
    check_unchanged(run, experiment, vocabulary)


def check_unchanged(run, experiment, vocabulary):
    check_same_model(run.config_file, experiment)
    ours, theirs = (load_tokenizer(path) for path in (run.folder / "vocabulary", vocabulary))
    if ours.contents() != theirs.contents():
        raise ValueError(
            f"{run.folder} was started with a different vocabulary than the one in "
            f"{vocabulary}. Give the same data, or a different --run"
        )


@contextlib.contextmanager
def unchanged_on_error(run):
    """Restores settings, vocabulary and plug-in files of a run if the block raises an error.

    So a rejected command changes nothing. Files that other commands write to the folder in the
    meantime are kept.
    """
    vocabulary, plugins = run.folder / "vocabulary", run.folder / FOLDER
    had_vocabulary = vocabulary.exists()
    had_plugins = {path.name for path in plugins.iterdir()} if plugins.is_dir() else set()
    settings = run.config_file.read_text("utf-8") if run.config_file.exists() else None
    try:
        yield
    except Exception:
        if settings is None:
            run.config_file.unlink(missing_ok=True)
        elif run.config_file.read_text("utf-8") != settings:
            write_text(run.config_file, settings)
        if not had_vocabulary:
            shutil.rmtree(vocabulary, ignore_errors=True)
        for path in plugins.iterdir() if plugins.is_dir() else ():
            if path.name not in had_plugins:
                path.unlink()
        with contextlib.suppress(OSError):  # there is none, or it has files
            plugins.rmdir()
        raise


@contextlib.contextmanager
def moved_text_named(run, experiment, flag, kind=ValueError):
    """Extends errors about missing training text: names the flag that sets a new path.

    Args:
        run: the `Run`.
        experiment: the `Experiment` of the new or resumed run.
        flag: the flag.
        kind: class of the errors.
    """
    try:
        yield
    except kind as error:
        if not run.config_file.exists() or places(run.experiment()) != places(experiment):
            raise
        raise ValueError(
            f"{error}. The config.json of {run.folder} names this place. If the text is elsewhere "
            f"now, give {flag}"
        ) from error


def places(experiment):
    return experiment.data.folder, experiment.data.held_out_files()
