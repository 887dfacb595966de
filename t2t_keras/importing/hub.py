"""Models of the Hugging Face Hub: downloads the files of one format, and checks their digests.

huggingface_hub, an optional package, makes the requests, so its environment variables, tokens and
cache apply. Files for other programs are left on the Hub.
"""

import contextlib
import fnmatch
import glob
import hashlib
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.formats import FORMATS, Format, nothing_known

PREFIX = "hf:"
ADDRESS = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", re.A)
RUN = "run"  # a run of this package, as t2t-export --format=hub writes it
FILES_OF_RUN = (
    *("config.json", "alignment.json", "metrics.jsonl", "imports/*"),
    *("vocabulary/*", "vocabulary/*/*", "export_litert/*/*", "export_litert/*/*/*"),
    "export_litert/*/*/*/*",
)
CANDIDATES = {RUN: Format("config.json", weights=("averaged.npz",), beside=FILES_OF_RUN)} | FORMATS
CARD = "README.md"


class Repository(NamedTuple):
    name: str  # "ORG/NAME"
    revision: str  # the commit
    folder: Path  # of the revision in the cache, with its config.json and model card
    format: str  # `RUN` or a name in `FORMATS`
    files: dict  # {name: size} of the files that an import needs
    card: dict  # metadata of the model card


def find(address, format=None):
    """Returns the `Repository` at an address. Downloads at most its config.json and model card.

    Args:
        address: see `parse_address`.
        format: name of a format. None: the files determine it.
    """
    name, revision = parse_address(address)
    hub = library()
    with explained(name, revision):
        revision = hub.HfApi().resolve_revision(name, revision=revision).resolved
        small = [CARD, "config.json"]
        folder = Path(hub.snapshot_download(name, revision=revision, allow_patterns=small))
        sizes = {
            file.path: file.size
            for file in hub.get_cached_repo_tree(name, revision=revision)
            if ".." not in file.path.split("/")
        }
    format, needed = model_in(sizes, format, folder, f"{PREFIX}{name}")
    files = {each: sizes[each] for each in needed}
    return Repository(name, revision, folder, format, files, card_of(folder))


def fetch(repository):
    """Downloads the files of a `Repository`, and compares them with their digests."""
    name, revision = repository.name, repository.revision
    with explained(name, revision):
        patterns = [glob.escape(each) for each in repository.files]
        library().snapshot_download(name, revision=revision, allow_patterns=patterns)
    for each in repository.files:
        check_digest(repository.folder / each)


def parse_address(text):
    """Returns the repository and the revision, or None, of an address such as hf:ORG/NAME."""
    found = ADDRESS.fullmatch(text.removeprefix(PREFIX))
    parts = re.split("[/@]", text.removeprefix(PREFIX))
    if not found or any(part.strip(".") == "" or ".." in part for part in parts):
        form = "hf:ORG/NAME or hf:ORG/NAME@REVISION"
        raise ValueError(f"a model of the Hugging Face Hub is given as {form}. Received: {text}")
    return found.groups()


def model_in(sizes, format, folder, address):
    """Returns the format of a repository with files `{name: size}`, and the names of those needed.

    `folder` has its config.json, if there is one.
    """
    found = ((name, needed_files(sizes, name)) for name in ([format] if format else CANDIDATES))
    format, names = next((each for each in found if each[1]), (format, []))
    settings = read_json_file(folder / "config.json", {})
    kind = settings.get("model_type", "marian")
    if kind != "marian" and (format == "hugging_face" or not names):
        raise ValueError(
            f"{address} holds a model of Hugging Face's type {str(kind)[:80]!r}. Only models of "
            "the type 'marian' are imported, such as Helsinki-NLP's models"
        )
    if names:
        return format, names
    raise ValueError(f"{address} holds {nothing_known(sizes, format)}")


def needed_files(sizes, format):
    """Returns the names of the files that a format needs; [] if its weights are not there."""
    row = CANDIDATES[format]
    found = (matching(sizes, pattern) for pattern in row.weights)
    weights = next((names for names in found if names), [])
    if format == "marian":
        weights = [name for name in weights if not name.endswith(".optimizer.npz")]
    if not weights or not matching(sizes, row.sign):
        return []
    beside = {name for pattern in row.beside for name in matching(sizes, pattern)}
    return sorted(beside - set(weights)) + weights


def matching(names, pattern):
    """Returns the names that match a pattern, in which * does not match /."""
    form = re.compile(fnmatch.translate(pattern).replace(".*", "[^/]*"))
    return sorted(name for name in names if form.match(name))


def card_of(folder):
    """Returns the metadata of the model card in a folder; {} if they are absent or damaged."""
    try:
        return library().repocard.metadata_load(folder / CARD) or {}
    except Exception:  # YAML's errors share no base class with Python's
        return {}


def check_digest(path):
    """Compares a file with its digest, after which the cache names it.

    The digest is the SHA-256 of a large file, or the SHA-1 that git gives to a small one. In a
    cache without links, files have no such names and are not compared.
    """
    blob = Path(os.path.realpath(path))
    digest = {64: hashlib.sha256, 40: hashlib.sha1}.get(len(blob.name))
    if digest is None or not re.fullmatch("[0-9a-f]+", blob.name):
        return
    start = b"" if len(blob.name) == 64 else b"blob %d\0" % blob.stat().st_size
    with open(blob, "rb") as contents:
        found = hashlib.file_digest(contents, lambda: digest(start)).hexdigest()
    if found != blob.name:
        raise ValueError(
            f"{blob} is damaged: it is not the file {path.name} of the Hub. Delete it and run the "
            "same command again"
        )


@contextlib.contextmanager
def explained(repository, revision):
    """Turns the errors of huggingface_hub into a `ValueError` of one line that says what to do."""
    errors, hub = library().errors, library().constants.ENDPOINT
    login = "log in with `hf auth login`, or set HF_TOKEN"
    advice = {
        errors.GatedRepoError: f"{PREFIX}{repository} is gated: accept its conditions at "
        f"{hub}/{repository}, and {login}",
        errors.RevisionNotFoundError: f"{PREFIX}{repository} has no revision {revision!r}: no "
        "branch, tag or commit of this name. Leave it out for the newest",
        errors.RepositoryNotFoundError: f"{hub} has no model {repository}, or hides it. Check the "
        f"name; if it is private, {login}",
    }
    try:
        yield
    except (
        *(errors.HTTPError, errors.LocalEntryNotFoundError, errors.CachedRepoTreeNotFoundError),
        *(errors.RevisionResolutionError, errors.FileMetadataError, json.JSONDecodeError),
    ) as error:
        found = (text for kind, text in advice.items() if isinstance(error, kind))
        other = (
            f"the download of {PREFIX}{repository} failed: {first_line(error)}. Check the network, "
            "and HF_ENDPOINT, HF_HUB_OFFLINE and HTTPS_PROXY if they are set, or run the same "
            "command again later"
        )
        raise ValueError(next(found, other)) from error


def first_line(error):
    """Returns the first sentence of an error, without the address of a file."""
    line = (str(error).strip() or type(error).__name__).split("\n")[0]
    return re.sub(r"https?://[\w.]\S*", "the file", line).rstrip(". ")


def library():
    """Returns the package huggingface_hub."""
    try:
        import huggingface_hub.constants
        import huggingface_hub.errors
        import huggingface_hub.repocard
        import huggingface_hub.utils.logging
    except ImportError as error:
        raise ValueError(
            "models of the Hugging Face Hub are downloaded with a further package: "
            'pip install "t2t-keras[hub]"'
        ) from error
    huggingface_hub.utils.logging.set_verbosity_error()  # warnings say what `explained` says
    return huggingface_hub
