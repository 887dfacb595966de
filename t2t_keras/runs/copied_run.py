"""Copies a run of this package that was downloaded, after verifying its checksums."""

import shutil

from pipelines.atomic_files import full_disk_named, write_json
from pipelines.tokenizers import load_tokenizer
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.importing.import_folder import UNFINISHED, check_new, clear
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import read_settings
from t2t_keras.translating.exports import verified_record, versions_in


def copy_run(source, run):
    """Copies a run, and returns the number of its weights.

    Args:
        source: the `ModelSource` of the run.
        run: the new `Run`.
    """
    experiment = checked(source.folder)
    contents = read_config(source.folder / "config.json")
    contents |= {"languages": source.languages, "origin": source.origin}
    with run.locked(), full_disk_named(run.folder):
        check_new(run)
        clear(run)
        try:
            (run.folder / UNFINISHED).touch()
            for name in source.files:
                if name != "config.json":
                    (run.folder / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source.folder / name, run.folder / name)
            # Written last, because a folder without it is not a run.
            write_json(run.config_file, contents)
        except BaseException:
            clear(run)
            raise
    return sum(parameter_counts(experiment.model).values())


def checked(folder):
    """Returns the `Experiment` of a downloaded run. Damage raises `ValueError` with its file."""
    run = RunFolder(folder)
    experiment = read_settings(run.config_file)
    run.averaged.state()  # fails if it is damaged
    load_tokenizer(folder / "vocabulary")
    for version in versions_in(folder / "export_litert").values():
        verified_record(version)
    return experiment
