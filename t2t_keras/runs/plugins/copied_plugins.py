"""Copies the plug-in files of an experiment into the run that is trained."""

import dataclasses
import shutil

from absl import logging

from pipelines.atomic_files import atomic_file
from t2t_keras.models import architecture_of
from t2t_keras.plugins import LOADED
from t2t_keras.runs.plugins.plugin_files import (
    FOLDER,
    PluginFile,
    load_plugins_of,
    named_entries,
    refuse_changed,
)


def adopt_plugins(run, experiment):
    """Sets `experiment.imports` to all files that a run needs; a run's own copies come first.

    Args:
        run: the `RunFolder`, new or to resume.
        experiment: the `Experiment`, which is changed.

    Returns:
        The files as `PluginFile`s, whose contents this process has executed.

    Raises:
        ValueError: a file differs from the copy in the run, or changed since it was loaded, or the
            user does not trust one in the run.
    """
    files = [*map(PluginFile.read, dict.fromkeys(experiment.imports))]
    refuse_changed(run, files)
    copies = load_plugins_of(run.folder) if run.config_file.exists() else []
    kept = {file.path.name: file for file in copies}
    known = {file.sha256 for file in files}
    owners = dict.fromkeys(table.owners.get(name) for table, name in used_entries(experiment))
    files += [PluginFile.read(each.path) for each in owners if each and each.sha256 not in known]
    given = {}
    for file in files:
        if file.sha256 not in LOADED:
            raise ValueError(
                f"{file.path} has changed since this process loaded it, or was not loaded. Start "
                "again, and pass it to Experiment(imports=…)"
            )
        other = given.setdefault(file.path.name, file)
        if other.sha256 != file.sha256:
            raise ValueError(
                f"{other.path} and {file.path} have the same name, under which a run keeps a copy. "
                "Rename one"
            )
    files = [*(given | kept).values()]
    experiment.imports = tuple(str(file.path.absolute()) for file in files)
    return files


def used_entries(experiment):
    """Returns each `Registry` with the name of an entry that an experiment uses.

    Entries of this package are left out.
    """
    settings = dataclasses.asdict(experiment)
    named = named_entries(settings, architecture_of(experiment.model))
    return [(table, name) for table, name in named if name in table.own()]


def copy_plugins(run, experiment, files):
    """Copies plug-in files into a run; sets `experiment.imports` to the copies.

    Args:
        run, experiment: see `adopt_plugins`.
        files: the `PluginFile`s. They are not read again, because they may have changed.

    Returns:
        {name: SHA-256}, for config.json.
    """
    for table, name in used_entries(experiment):
        if table.owners.get(name) is None:
            logging.warning(
                "%s=%r is an entry that this process has added to %s. To use the run in another "
                'process, put it into a Python file and name the file in imports=("FILE.py",)',
                *(table.setting, name, table.name),
            )
    folder = run.folder / FOLDER
    if not run.config_file.exists():
        shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    for file in files:
        path = folder / file.path.name
        if file.path != path.absolute():
            folder.mkdir(exist_ok=True)
            with atomic_file(path) as output:
                output.write(file.contents)
    experiment.imports = tuple(str((folder / file.path.name).absolute()) for file in files)
    return {file.path.name: file.sha256 for file in files}
