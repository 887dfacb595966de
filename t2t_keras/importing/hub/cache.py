"""The cache of the Hugging Face Hub on this machine, which huggingface_hub and its users share.

`library` imports huggingface_hub, an optional package, or names the missing extra.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

NAME = re.compile(r"(?!\.{1,2}(/|$))[\w.+-]+(/(?!\.{1,2}(/|$))[\w.+-]+)*", re.A)


class RemoteFile(NamedTuple):
    """A file on the Hub.

    Args:
        size: bytes.
        digest: SHA-256 of a large file, or the SHA-1 that git gives to a small one.
    """

    size: int
    digest: str


class Listing(NamedTuple):
    """The files of a repository at a revision.

    Args:
        repository: "ORG/NAME".
        revision: the commit, 40 hexadecimal digits.
        files: {name: `RemoteFile`}. Files with unusual names are left out.
    """

    repository: str
    revision: str
    files: dict

    def __str__(self):
        return f"hf:{self.repository}"


def cached_files(repository, revision=None):
    """Returns the `Listing` of the files of a repository that are in the cache."""
    folder = cache_of(repository)
    named = revision or "main"
    commit = named
    if (folder / "refs" / named).is_file():
        commit = (folder / "refs" / named).read_text().strip()
    snapshot = folder / "snapshots" / commit
    paths = sorted(snapshot.rglob("*")) if NAME.fullmatch(commit) else []
    files = {}
    for path in paths:
        if path.is_file():
            digest = Path(os.path.realpath(path)).name
            files[path.relative_to(snapshot).as_posix()] = RemoteFile(path.stat().st_size, digest)
    if not files:
        raise ValueError(
            f"HF_HUB_OFFLINE is set, and {folder.parent} has no copy of hf:{repository}"
            f"{f'@{revision}' if revision else ''}. Unset it to download the model"
        )
    return Listing(repository, commit, files)


def remember(listing, revision=None):
    """Records the commit of a revision in the cache, where `cached_files` finds it offline."""
    path = cache_of(listing.repository) / "refs" / (revision or "main")
    if revision != listing.revision:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(listing.revision)


def cache_of(repository):
    """Returns the folder of a repository in the cache of huggingface_hub."""
    from huggingface_hub.file_download import repo_folder_name

    name = repo_folder_name(repo_id=repository, repo_type="model")
    return Path(library().constants.HF_HUB_CACHE) / name


def megabytes(size):
    return f"{size / 1e6:,.1f} MB"


def library():
    """Returns the package huggingface_hub."""
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
        import huggingface_hub.repocard
        import huggingface_hub.utils.logging
    except ImportError as error:
        raise ValueError(
            "models of the Hugging Face Hub are downloaded with a further package: "
            'pip install "t2t-keras[hub]"'
        ) from error
    except ValueError as error:  # it parses HF_ENDPOINT
        raise ValueError(f"HF_ENDPOINT must be an address, such as https://…: {error}") from error
    huggingface_hub.utils.logging.set_verbosity_error()  # warnings say what `explained` says
    return huggingface_hub
