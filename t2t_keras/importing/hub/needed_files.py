"""Models of the Hugging Face Hub: which files of a repository an import needs, and its model card.

Weights are taken from the first of the known files, such as `model.safetensors` before
`pytorch_model.bin`; files for other programs are left on the Hub.
"""

import fnmatch
import re
from typing import Any, NamedTuple

from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.hub import client as hub_client
from t2t_keras.importing.hub.cache import library, megabytes, remember
from t2t_keras.importing.hub.errors import first_line

PREFIX = "hf:"
ADDRESS = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", re.A)
FORM = "hf:ORG/NAME or hf:ORG/NAME@REVISION"
LARGEST_TEXT = 64 << 20  # bytes of a vocabulary or another file beside the weights
CARD, LARGEST_CARD = "README.md", 1 << 20


class Needs(NamedTuple):
    """The files of a format.

    Args:
        weights: patterns of files with weights. The first pattern that occurs is taken.
        others: patterns of the files beside them, as far as they occur.
    """

    weights: tuple
    others: tuple


RUN = "run"  # a run of this package, as t2t-export --format=hub writes it
BESIDE = ("*.json", "*.txt", "*.yml", "*.yaml", "*.spm", "*.model", "*.vocab", "*vocab*")
NEEDS = {
    RUN: Needs(
        ("averaged.npz",),
        (
            *("config.json", "alignment.json", "metrics.jsonl"),
            "imports/*.py",
            *("vocabulary/*", "vocabulary/*/*", "export_litert/*/*", "export_litert/*/*/*"),
            "export_litert/*/*/*/*",
        ),
    ),
    "hugging_face": Needs(
        ("model.safetensors", "pytorch_model.bin"),
        (
            *("config.json", "generation_config.json", "tokenizer_config.json"),
            *("vocab.json", "target_vocab.json", "source.spm", "target.spm"),
        ),
    ),
    "ctranslate2": Needs(("model.bin",), BESIDE),
    "marian": Needs(("model.npz", "*.npz"), BESIDE),
    "opennmt_tf": Needs(("ckpt-*",), (*BESIDE, "checkpoint", "model_description.py")),
    "tensor2tensor": Needs(("model.ckpt-*",), (*BESIDE, "checkpoint", "*.subwords*")),
}


class Plan(NamedTuple):
    """The files of a repository that an import needs.

    Args:
        listing: the `Listing` of the repository.
        revision: the requested revision, or None.
        format: name of its format: `RUN`, or one of `importing.formats.FORMATS`.
        weights: names of the files with weights.
        others: names of the other files.
    """

    listing: Any
    revision: str | None
    format: str
    weights: list
    others: list

    @property
    def files(self):
        return [*self.others, *self.weights]

    @property
    def size(self):
        return sum(self.listing.files[name].size for name in self.files)


def parse_address(text):
    """Returns the repository and the revision, or None, of an address such as hf:ORG/NAME."""
    found = ADDRESS.fullmatch(text.removeprefix(PREFIX))
    parts = re.split("[/@]", text.removeprefix(PREFIX))
    if not found or any(part.strip(".") == "" or ".." in part for part in parts):
        raise ValueError(f"a model of the Hugging Face Hub is given as {FORM}. Received: {text}")
    return found.groups()


def planned(address, format=None):
    """Returns the `Plan` for a model of the Hub. Downloads at most its config.json.

    Args:
        address: see `parse_address`.
        format: name of a format. None: the files determine it.
    """
    repository, revision = parse_address(address)
    listing = hub_client.list_files(repository, revision)
    for name in NEEDS if format is None else [format]:
        weights, others = needed_files(listing.files, name)
        if weights:
            plan = Plan(listing, revision, name, weights, others)
            break
    else:
        raise ValueError(no_model(listing, format))
    hub_client.check_room(listing, plan.files)
    if plan.format == "hugging_face":
        check_architecture(listing)
    return plan


def fetch(plan, show=print, describe=lambda folder, card: ()):
    """Downloads the files of a `Plan`. Returns their folder and the metadata of the model card.

    Args:
        plan: a `Plan`.
        show: called with each line about the download.
        describe: function of the folder, without the weights, and of the model card's metadata. It
            yields lines about the model.
    """
    listing = plan.listing
    missing = hub_client.missing_bytes(listing, plan.files)
    has_card = CARD in listing.files and listing.files[CARD].size <= LARGEST_CARD
    folder = hub_client.download(listing, [*plan.others, *([CARD] if has_card else [])], show)
    card = card_of(folder, show)
    for line in describe(folder, card):
        show(line)
    cache = folder.parent.parent
    show(
        f"{len(plan.files)} of {len(listing.files)} files are needed, {megabytes(plan.size)}; "
        + (f"{megabytes(missing)} are downloaded to {cache}" if missing else f"all are in {cache}")
    )
    hub_client.download(listing, plan.weights, show)
    remember(listing, plan.revision)
    return folder, card


def needed_files(files, format):
    """Returns the names of the weights and of the other files that a format needs.

    Args:
        files: {name: `RemoteFile`}.
        format: a key of `NEEDS`.
    """
    needs = NEEDS[format]
    found = (matching(files, pattern) for pattern in needs.weights)
    weights = next((names for names in found if names), [])
    if format in (RUN, "hugging_face") and "config.json" not in files:
        weights = []
    if format == "marian":
        weights = [name for name in weights if not name.endswith(".optimizer.npz")]
    others = {name for pattern in needs.others for name in matching(files, pattern)}
    if format != RUN:
        others = {name for name in others if files[name].size <= LARGEST_TEXT}
    return weights, sorted(others - set(weights))


def matching(names, pattern):
    """Returns the names that match a pattern, whose * stands for no /."""
    form = re.compile(fnmatch.translate(pattern).replace(".*", "[^/]*"))
    return sorted(name for name in names if form.match(name))


def no_model(listing, format):
    """Returns the reason why no file of a repository can be imported."""
    names = sorted(listing.files)
    wanted = f"no model of the format {format}" if format else "no model that can be imported"
    if "config.json" in names and format in (None, "hugging_face"):
        check_architecture(listing)
        if any(name.endswith(".index.json") for name in names):
            return f"{listing} has its weights in several files. Save them as one model.safetensors"
    inner = sorted({name.rpartition("/")[0] for name in names if "/" in name})
    if inner:
        wanted += (
            f" at its top. If one is in {' or '.join(inner[:3])}: hf download "
            f"{listing.repository} --local-dir FOLDER, and import the folder in it"
        )
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    return f"{listing} has {wanted}. Its files are: {shown or 'none'}"


def check_architecture(listing):
    """Raises `ValueError` for a model of Hugging Face that is not a Marian model."""
    folder = hub_client.download(listing, ["config.json"])
    settings = read_json_file(folder / "config.json", {})
    kind = settings.get("model_type")
    if kind in (None, "marian"):
        return
    architectures = settings.get("architectures")
    name = architectures[0] if isinstance(architectures, list) and architectures else kind
    raise ValueError(
        f"{listing} holds a {str(name)[:80]}, of Hugging Face's type {str(kind)[:80]!r}. Only "
        "models of the type 'marian' are imported, such as those of Helsinki-NLP"
    )


def card_of(folder, show):
    """Returns the metadata of the model card in a folder; {} if there is none."""
    path = folder / CARD
    try:
        return (library().repocard.metadata_load(path) if path.exists() else None) or {}
    except Exception as error:  # YAML's errors have no common base with those of Python
        show(f"The metadata of the model card cannot be read: {first_line(error)}")
        return {}
