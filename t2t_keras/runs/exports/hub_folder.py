"""Exports a run as a folder for the Hugging Face Hub.

The folder is a run: it has the settings, the vocabulary and the weights, a model for LiteRT, and a
model card. `hf upload` publishes it, and t2t-import hf:ORG/NAME makes a run of it again.
"""

import contextlib
import os
import re
import shutil

from pipelines.atomic_files import atomic_folder, only_one, write_text
from pipelines.toy.grammar import pairs
from t2t_keras.export.litert.convert import NotConvertible
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.exports.fitting import comparable
from t2t_keras.runs.exports.model_card import model_card
from t2t_keras.runs.exports.published_run import search_entry, write_published
from t2t_keras.runs.exports.speed import SENTENCES, measured
from t2t_keras.runs.importing.inherited_license import inherited_from, is_unknown
from t2t_keras.translating.engines.litert import LiteRTEngine
from t2t_keras.translating.translator import Translator

LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")
# Git LFS stores these files on the Hub, which serves them from its network of caches.
LARGE = ("*.h5", "*.tflite", "*.model", "*.spm")
ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LARGE)


def export_hub(
    run,
    folder,
    weights=None,
    dtype="int8",
    license=None,
    languages=None,
    n_best=None,
    **search,
):
    """Writes the folder, and returns its path.

    Args:
        run: a `Run`.
        folder: the new folder.
        weights: see `TrainedModel`.
        dtype: type of the weights of the model for LiteRT, "int8" or "float32".
        license: identifier of the license, such as "apache-2.0". None: that of the imported model
            that the run is, or began from.
        languages: the `Languages` of the model. None: those that the run records.
        n_best: size of the n-best lists of t2t-serve. None: the beam width.
        **search: changes to the run's search settings.
    """
    if folder.exists():
        raise ValueError(f"{folder} exists already. Delete it, or give a new folder with --output")
    license = chosen_license(run, license)
    name = folder.resolve().name
    name = run.folder.resolve().name if name == "export_hub" else name
    name = os.fsencode(name).decode(errors="replace")
    remove_leftovers(folder)
    with atomic_folder(folder) as unfinished, only_one(unfinished):
        contents = read_config(run.config_file)
        facts = {"license": license}
        if languages:
            facts["languages"] = languages
        config = run.search(**search)
        if search:
            facts["experiment"] = search_entry(contents, config)
        # The BLEU of another search is no score of this model.
        with_scores = comparable(config) == comparable(run.search())
        write_published(run, unfinished, weights, with_scores, **facts)
        published = type(run)(unfinished)
        speed = None
        try:
            version = published.export(None, "litert", dtype=dtype, n_best=n_best)
            speed = measured(Translator(LiteRTEngine(version)), sentences_of(run))
        except NotConvertible:  # it is published without; the card says so
            shutil.rmtree(unfinished / "export_litert")
            dtype = None
        base = inherited_from(run).hub
        card = model_card(run, published, name, license, base, speed, dtype)
        write_text(unfinished / "README.md", card)
        write_text(unfinished / ".gitattributes", ATTRIBUTES)
        for lock in unfinished.rglob(".*lock"):
            lock.unlink()
    return folder


def remove_leftovers(folder):
    """Removes what killed exports of a folder left beside it, but none that is being written."""
    form = re.compile(re.escape(folder.name) + r"\.[0-9a-f]{32}\.unfinished")
    for path in folder.parent.glob("*.unfinished"):
        if form.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            with contextlib.suppress(ValueError), only_one(path):  # raised if it is in use
                shutil.rmtree(path)


def chosen_license(run, license=None):
    """Returns the license of a run to publish, or None if there is none.

    Args:
        run: a `RunFolder`.
        license: the given license, or None.
    """
    if license is not None and not LICENSE.fullmatch(license):
        raise ValueError(
            "--license must be an identifier of the Hugging Face Hub in lower case, such as mit, "
            f"apache-2.0, cc-by-4.0 or other. Received: {license!r}"
        )
    inherited = inherited_from(run).license
    if license is None and is_unknown(run):
        raise ValueError(
            f"training of {run.folder} began from the run {read_config(run.config_file)['init']}, "
            "whose license was not recorded. Give its license with --license"
        )
    if inherited and license not in (None, inherited):
        raise ValueError(
            f"the model that {run.folder} is made from has the license {inherited}, which stays. "
            f"Received: --license={license}. Leave it out"
        )
    return license or inherited


def sentences_of(run):
    """Returns sources of the run's held-out set, if its files are still there."""
    data = run.experiment().data
    if read_config(run.config_file).get("imported") is not None:  # its paths are mere names
        return []
    if not data.folder and not data.dev_source and not data.dev:
        return [source for source, _ in pairs(SENTENCES, "test")]
    for files in data.held_out_files()[:1]:
        try:
            return [source for source, _ in files.read()]
        except (OSError, ValueError):
            pass
    return []
