"""Writes a copy of a run to publish: what it needs to translate, and no local path or user name."""

import dataclasses
import re
import shutil

from pipelines.atomic_files import write_json
from t2t_keras.runs.config_file import read_config, recorded_corpora
from t2t_keras.runs.plugins.plugin_files import FOLDER, files_of_run
from t2t_keras.runs.run_folder import ALIGNMENT
from t2t_keras.runs.training.averaged_weights import AveragedWeights
from t2t_keras.training.checkpoints import model_state

PATHS = ("folder", "dev_source", "dev_target")  # settings in `data`
# A path that leads somewhere, in any text: /home/mary/train.en, ~/train.en, ../mary/train.en,
# C:\mary\train.en, C:/mary/train.en, file:///home/mary/train.en.
PART = r"[^\s,:=\"'/\\]*"
END = r"[\s,:=\"'/\\]|$"
LOCAL = re.compile(
    rf"(?<![\w.:/~\\-])(?:~?/|\.\.?[/\\]|[A-Za-z]:[/\\]|file:/+)(?:{PART}[/\\])*(?!{END})"
)


def write_published(run, folder, weights=None, with_scores=True, **facts):
    """Writes the copy.

    Args:
        run: the `Run`.
        folder: the new folder, a `Path`.
        weights: see `TrainedModel`. They become the copy's averaged weights.
        with_scores: whether the recorded BLEU of the weights belongs to the copy's search.
        **facts: changes to entries of config.json.
    """
    contents = published_settings(read_config(run.config_file)) | facts
    write_json(folder / "config.json", contents)
    shutil.copytree(run.folder / "vocabulary", folder / "vocabulary")
    for name in (ALIGNMENT, "metrics.jsonl"):
        if (run.folder / name).exists():
            shutil.copyfile(run.folder / name, folder / name)
    files = files_of_run(run.folder)
    for file in files:
        (folder / FOLDER).mkdir(exist_ok=True)
        (folder / FOLDER / file.path.name).write_bytes(file.contents)
    model, steps, _ = run.loaded_with_file(weights)
    scores = scores_of(run, weights) if with_scores else {}
    AveragedWeights(folder).write(model_state(model), steps, None, **scores)


def scores_of(run, weights=None):
    """Returns the recorded BLEU of a run's weights: {} if they were not scored."""
    if weights not in (None, run.default_weights()):
        return {}
    record = run.averaged.record() or {}
    return {name: record[name] for name in ("bleu", "bleu_by_set") if name in record}


def published_settings(contents):
    """Returns the contents of a config.json without the folders of this machine.

    The names of files stay. The command line does not: its settings are among the others.
    """
    corpora = recorded_corpora(contents)
    contents = {name: value for name, value in contents.items() if name != "command"}
    contents = known_files_shortened(contents, corpora)
    contents = {name: without_paths(value) for name, value in contents.items()}
    if corpora:
        contents["corpora"] = [
            each | {"folder": base_name(each["folder"]), "files": [*map(base_name, each["files"])]}
            for each in corpora
        ]
    data = contents["experiment"].get("data", {})
    data |= {name: base_names(data[name]) for name in PATHS if data.get(name)}
    data["dev"] = [base_names(text) for text in data.get("dev", ())]
    if "init" in contents:
        contents["init"] = base_names(contents["init"])
    # The copy has no state of training: it is used, but not resumed, like an imported model.
    return {"command": [], **contents, "imported": contents.get("imported") or "t2t_keras"}


def known_files_shortened(value, corpora):
    """Replaces the recorded files and folders of corpora in the texts of a JSON value.

    Only so is the end of a name with spaces or commas known.

    Args:
        value: the value.
        corpora: see `recorded_corpora`.
    """
    known = {path for each in corpora for path in (each["folder"], *each["files"])}
    known = sorted((path for path in known if base_name(path) != path), key=len, reverse=True)

    def shortened(text):
        for path in known:
            text = text.replace(path, base_name(path))
        return text

    return in_texts(value, shortened)


def base_name(path):
    """Returns the last part of a path of any system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def base_names(text):
    """Shortens the paths in a text such as "data/a:1,data/b:4" or "mine=dev.en,dev.de"."""
    return ",".join(
        name + equals + base_name(path)
        for part in text.split(",")
        for name, equals, path in [split_name(part)]
    )


def split_name(text):
    name, equals, path = text.partition("=")
    return (name, equals, path) if equals and "/" not in name else ("", "", text)


def without_paths(value):
    """Shortens all paths that lead somewhere in the texts of a JSON value; see `LOCAL`."""
    return in_texts(value, lambda text: LOCAL.sub("", text))


def in_texts(value, function):
    """Applies a function to the texts of a JSON value, at any depth."""
    if isinstance(value, str):
        return function(value)
    if isinstance(value, dict):
        return {name: in_texts(each, function) for name, each in value.items()}
    return (
        [in_texts(each, function) for each in value] if isinstance(value, list | tuple) else value
    )


def search_entry(contents, config):
    """Returns the entry `experiment` of a config.json with the search settings of `config`."""
    return contents["experiment"] | {"search": dataclasses.asdict(config)}
