"""Exports a run as a folder for the Hugging Face Hub.

The folder is a run: it has the settings, the vocabulary and the weights, a model for LiteRT, and a
model card, and names no folder of this machine. `hf upload` publishes it, and
t2t-import hf:ORG/NAME makes a run of it again.
"""

import dataclasses
import json
import re
import shutil

from pipelines.atomic_files import atomic_folder, write_json, write_text
from t2t_keras.export.litert.convert import NotConvertible
from t2t_keras.runs.config_file import made_from, read_config
from t2t_keras.runs.exports.fitting import comparable
from t2t_keras.runs.exports.model_card import model_card
from t2t_keras.runs.plugins.plugin_files import FOLDER, files_of_run
from t2t_keras.runs.run_folder import ALIGNMENT
from t2t_keras.runs.training.averaged_weights import AveragedWeights
from t2t_keras.training.checkpoints import model_state

LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")
# Git LFS stores these files on the Hub, which serves them from its network of caches.
LARGE = ("*.npz", "*.tflite", "*.model", "*.spm")
ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LARGE)


def export_hub(run, folder, weights=None, license=None, languages=None, n_best=None, **options):
    """Writes the folder, and returns its path; see `exporting.export`.

    The weights have the type of the model for LiteRT. The default license is the license of the
    imported model that the run is, or began from.
    """
    dtype, search = options.pop("dtype", "int8"), options
    if folder.exists():
        raise ValueError(f"{folder} exists already. Delete it, or give a new folder with --output")
    contents, config = read_config(run.config_file), run.search(**search)
    facts = {"license": chosen_license(run, contents, license)}
    if languages:
        facts["languages"] = languages
    name = folder.resolve().name
    name = run.folder.resolve().name if name == "export_hub" else name
    # The BLEU of other weights, or of another search, is no score of this model.
    scored = weights in (None, run.default_weights()) and comparable(config) == comparable(
        run.search()
    )
    with atomic_folder(folder) as unfinished:
        settings = published_settings(contents) | facts
        settings["experiment"]["search"] = dataclasses.asdict(config)
        write_json(unfinished / "config.json", settings)
        write_model(run, unfinished, weights, scored)
        published = type(run)(unfinished)
        try:
            published.export(None, "litert", dtype=dtype, n_best=n_best)
        except NotConvertible:  # it is published without; the card says so
            dtype = None
        write_text(unfinished / "README.md", model_card(published, name, dtype))
        write_text(unfinished / ".gitattributes", ATTRIBUTES)
        for lock in unfinished.rglob(".*lock"):
            lock.unlink()
    return folder


def chosen_license(run, contents, license=None):
    """Returns the license of a run to publish, or None, given its config.json's contents."""
    if license is not None and not LICENSE.fullmatch(license):
        raise ValueError(
            "--license must be an identifier of the Hugging Face Hub in lower case, such as mit, "
            f"apache-2.0, cc-by-4.0 or other. Received: {license!r}"
        )
    inherited = made_from(contents)["license"]
    if inherited and license not in (None, inherited):
        raise ValueError(
            f"the model that {run.folder} is made from has the license {inherited}, which stays. "
            f"Received: --license={license}. Leave it out"
        )
    return license or inherited


def published_settings(contents):
    """Returns the contents of a config.json without the folders of this machine.

    The names of files stay. The command line does not: its settings are among the others.
    """
    contents = json.loads(json.dumps(contents))
    data = contents["experiment"]["data"]
    data |= {name: names(data[name]) for name in ("folder", "dev_source", "dev_target")}
    data["dev"] = [*map(names, data["dev"])]
    data["cleaning"]["rules"] = [*map(names, data["cleaning"]["rules"])]
    for each in contents["corpora"]:
        each |= {"folder": names(each["folder"]), "files": [*map(names, each["files"])]}
    if "init" in contents:
        contents["init"] = names(contents["init"])
    leaves = contents["preparation"].get("leaves")
    # The copy has no state of training: it is used, but not resumed, like an imported model.
    system = contents.get("imported") or "t2t_keras"
    return contents | {"command": [], "preparation": {"leaves": leaves}, "imported": system}


def names(text):
    """Shortens the paths in a text such as "data/a:1,data/b:4" or "mine=dev.en,dev.de"."""
    return re.sub(r"[^,=]*[/\\]", "", text.rstrip("/\\"))


def write_model(run, folder, weights, scored):
    """Writes what a run needs to translate, except for its config.json, into a new folder.

    The weights become the averaged ones. Their recorded BLEU is kept if it was `scored` with them.
    """
    shutil.copytree(run.folder / "vocabulary", folder / "vocabulary")
    for name in (ALIGNMENT, "metrics.jsonl"):
        if (run.folder / name).exists():
            shutil.copyfile(run.folder / name, folder / name)
    if files_of_run(run.folder):  # with the files that they need
        shutil.copytree(run.folder / FOLDER, folder / FOLDER)
    model, steps, _ = run.loaded_with_file(weights)
    known = (run.averaged.record() or {}) if scored else {}
    AveragedWeights(folder).write(model_state(model), steps, None, bleu=known.get("bleu", {}))
