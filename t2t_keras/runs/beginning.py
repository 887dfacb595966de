"""The beginning of a training: a new run's folder, or the check that it may be resumed."""

import shutil

from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.whole import check_links, whole_folder
from t2t_keras.runs.settings_file import check_same_model, read_config, write_settings


def begin(run, experiment, vocabulary, command=(), init=None):
    """Creates the run's folder, or checks that an existing one has compatible settings.

    The model, the vocabulary and the seed of a run are fixed; other settings may change.

    Args:
        run: the `Run`.
        experiment: an `Experiment`.
        vocabulary: folder of the sub-word model.
        command: the words of the command line.
        init: folder of the run whose weights this one starts from, or None.
    """
    check_folder(run)
    facts = {"init": str(init)} if init else {}
    run.folder.mkdir(parents=True, exist_ok=True)
    if run.config_file.exists():
        check_unchanged(run, experiment, vocabulary)
        facts = {k: v for k, v in read_config(run.config_file).items() if k == "init"}
    else:
        for leftover in run.folder.glob("vocabulary.*.unfinished"):  # of a killed process
            shutil.rmtree(leftover)
        with whole_folder(run.folder / "vocabulary") as unfinished:
            save_tokenizer(load_tokenizer(vocabulary), unfinished)
    write_settings(run.config_file, experiment, command, **facts)


def check_folder(run):
    """Rejects a folder that is no run but has other files, and links that lead outside."""
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
    # A process that was killed while it created the run may have left unfinished files.
    names = {path.name for path in run.folder.iterdir() if path.suffix != ".unfinished"}
    if others := names - {".lock", "vocabulary"}:
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
    check_unchanged(run, experiment, vocabulary)


def check_unchanged(run, experiment, vocabulary):
    check_same_model(run.config_file, experiment)
    ours, theirs = (load_tokenizer(path) for path in (run.folder / "vocabulary", vocabulary))
    if ours.contents() != theirs.contents():
        raise ValueError(
            f"{run.folder} was started with a different vocabulary than the one in "
            f"{vocabulary}. Give the same data, or a different --run"
        )
