"""Downloads files of the Hugging Face Hub into its cache, and resumes what was interrupted.

The package huggingface_hub makes the requests, so its environment variables and tokens apply. By
itself, version 2 begins the download of a file again when the process was killed, and compares only
its size with the Hub's. Here a partial file stays in the cache, is completed by the next call, and
every file is compared with the digest that the Hub lists.
"""

import hashlib
import os
import re
import shutil
import sys
import time
from pathlib import Path

from t2t_keras.importing.hub.cache import (
    NAME,
    Listing,
    RemoteFile,
    cache_of,
    cached_files,
    library,
    megabytes,
)
from t2t_keras.importing.hub.errors import explained

TIMEOUT = 10.0  # seconds until the Hub must answer
ROOM = 32 << 20  # bytes of a disk that a download leaves free
LOG_EVERY = 10.0  # seconds between two lines about a download


def list_files(repository, revision=None):
    """Returns the `Listing` of a repository: from the Hub, or offline from the cache.

    Args:
        repository: "ORG/NAME".
        revision: a branch, a tag or a commit. None: the main branch.
    """
    constants = library().constants
    if constants.HF_HUB_OFFLINE:
        return cached_files(repository, revision)
    with explained(f"hf:{repository}", revision):
        info = (
            library()
            .HfApi()
            .model_info(repository, revision=revision, files_metadata=True, timeout=TIMEOUT)
        )
        files = {each.rfilename: remote_file(each) for each in info.siblings}
        if not re.fullmatch("[0-9a-f]{40}", info.sha):
            raise TypeError("no commit")
    usable = {name: file for name, file in files.items() if file and NAME.fullmatch(name)}
    return Listing(repository, info.sha, usable)


def remote_file(sibling):
    """Returns the `RemoteFile` in an answer of the Hub, or None if it is incomplete."""
    digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
    size = sibling.lfs.size if sibling.lfs else sibling.size
    known = isinstance(digest, str) and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", digest)
    return RemoteFile(size, digest) if known and type(size) is int and size >= 0 else None


def download(listing, names, show=print):
    """Downloads files that the cache lacks, and returns the folder that has them all.

    Args:
        listing: a `Listing`.
        names: names of its files.
        show: called with lines about the progress where standard error is no terminal.

    Returns:
        The `Path` of the folder of this revision in the cache.
    """
    for name in names:
        path = downloaded(listing, name, show)
        if not has_digest(path, listing.files[name]):
            raise ValueError(
                f"{os.path.realpath(path)} is damaged: it is not the file {name} of {listing}. "
                "Delete it and run the same command again"
            )
    return cache_of(listing.repository) / "snapshots" / listing.revision


def missing_bytes(listing, names):
    """Returns the number of bytes of these files that the cache lacks."""
    folder = cache_of(listing.repository)
    missing = {}
    for name in names:
        size, digest = listing.files[name]
        blob = folder / "blobs" / digest
        cached = (folder / "snapshots" / listing.revision / name).exists() or blob.exists()
        partial = partial_file(blob)
        done = partial.stat().st_size if partial.exists() else 0
        missing[digest] = 0 if cached else max(size - done, 0)
    return sum(missing.values())


def check_room(listing, names):
    """Raises `ValueError` if the disk of the cache has no room for files that it lacks."""
    needed, folder = missing_bytes(listing, names), cache_of(listing.repository).parent
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if needed and free < needed + ROOM:
        raise ValueError(
            f"the disk of {folder} has {megabytes(free)} free, and {listing} needs "
            f"{megabytes(needed)} to download and {megabytes(ROOM)} to spare. Free some, or set "
            "HF_HOME to a folder on a larger disk"
        )


def downloaded(listing, name, show):
    """Returns the path of a file in the cache's folder of the revision."""
    folder, file = cache_of(listing.repository), listing.files[name]
    path = folder / "snapshots" / listing.revision / name
    if path.exists():
        return path
    with explained(str(listing), listing.revision, name):
        complete_blob(listing, name, show)
        # Finds the complete file among the cache's blobs, and links it where other programs look.
        path = Path(library().hf_hub_download(listing.repository, name, revision=listing.revision))
    if not has_digest(path, file):  # the server's own ETag is not what the Hub lists
        Path(os.path.realpath(path)).unlink()
        path.unlink(missing_ok=True)
        raise ValueError(mismatch(listing, name))
    return path


def complete_blob(listing, name, show):
    """Downloads the rest of a file into the folder of blobs, which are named after their digest."""
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import WeakFileLock, build_hf_headers

    folder, file = cache_of(listing.repository), listing.files[name]
    blob = folder / "blobs" / file.digest
    locks = repo_folder_name(repo_id=listing.repository, repo_type="model")
    lock = folder.parent / ".locks" / locks / f"{file.digest}.lock"  # as hf_hub_download locks
    for each in (blob, lock):
        each.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_file(blob)
    with WeakFileLock(lock):
        for _ in range(2):
            if blob.exists():
                return
            with open(partial, "ab") as output:
                if output.tell() > file.size:
                    output.truncate(0)
                    output.seek(0)
                if done := output.tell():
                    show(f"{name}: resumed after {megabytes(done)} of {megabytes(file.size)}")
                http_get(
                    library().hf_hub_url(listing.repository, name, revision=listing.revision),
                    output,
                    resume_size=done,
                    headers=build_hf_headers(),
                    expected_size=file.size,
                    displayed_filename=name,
                    tqdm_class=None if sys.stderr.isatty() else lines_by(show),
                )
            if has_digest(partial, file):
                partial.replace(blob)
                return
            partial.unlink()
            if not done:
                break
            show(f"{name}: the partial file in the cache was damaged; it is downloaded again")
    raise ValueError(mismatch(listing, name))


def partial_file(blob):
    """Returns the path of an unfinished file. Its name is none that huggingface_hub itself uses."""
    return blob.with_name(f"{blob.name}.t2t.incomplete")


def has_digest(path, file):
    """Returns whether a file has the size and the digest of a `RemoteFile`.

    In a cache without links, the digest of a file is unknown offline, and not compared.
    """
    size = path.stat().st_size
    if size != file.size:
        return False
    digest = {64: hashlib.sha256, 40: hashlib.sha1}.get(len(file.digest))
    if digest is None or not re.fullmatch("[0-9a-f]+", file.digest):
        return True
    start = b"" if len(file.digest) == 64 else b"blob %d\0" % size  # as git hashes a file
    with open(path, "rb") as contents:
        return hashlib.file_digest(contents, lambda: digest(start)).hexdigest() == file.digest


def lines_by(show):
    """Returns a class with the interface of tqdm's bars that shows a line now and then."""

    class Lines:
        def __init__(self, desc, total=None, initial=0, **_):
            self.name, self.total, self.done = desc, total, initial
            self.shown_at = time.monotonic()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, count):
            self.done += count
            if time.monotonic() - self.shown_at >= LOG_EVERY and self.total:
                self.shown_at = time.monotonic()
                of = f"{megabytes(self.done)} of {megabytes(self.total)}"
                show(f"{self.name}: {of} ({self.done / self.total:.0%})")

    return Lines


def mismatch(listing, name):
    return (
        f"{name} of {listing} was damaged on the way: it does not have the digest that the Hub "
        "lists. Run the same command again"
    )
