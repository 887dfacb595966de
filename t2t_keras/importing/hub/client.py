"""Downloads files of the Hugging Face Hub into its cache, and resumes what was interrupted.

The package huggingface_hub makes the requests, so its environment variables and tokens apply. By
itself, version 2 begins the download of a file again when the process was killed, compares only its
size with the Hub's, and stores it under a name that the server of the file gives. Here a partial
file stays in the cache and is completed by the next call. Every file is compared with the digest
that the Hub lists, and is stored under this digest.
"""

import contextlib
import hashlib
import os
import re
import shutil
import sys
import time
import urllib.parse

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
from t2t_keras.importing.hub.requests import append_rest, information

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
    url = f"{constants.ENDPOINT}/api/models/{repository}"
    if revision is not None:
        url += f"/revision/{urllib.parse.quote(revision, safe='')}"
    with explained(f"hf:{repository}", revision):
        info = information(url)
        files = {str(each["rfilename"]): remote_file(each) for each in info["siblings"]}
        if not re.fullmatch("[0-9a-f]{40}", info["sha"]):
            raise TypeError("no commit")
    usable = {name: file for name, file in files.items() if file and NAME.fullmatch(name)}
    return Listing(repository, info["sha"], usable)


def remote_file(sibling):
    """Returns the `RemoteFile` in an answer of the Hub, or None if it is incomplete."""
    large = sibling.get("lfs") or {}
    digest = large["sha256"] if large else sibling.get("blobId")
    size = large["size"] if large else sibling.get("size")
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
    with explained(str(listing), listing.revision, name), locked(listing, file):
        if not path.exists():  # a different process may have completed it
            blob = folder / "blobs" / file.digest
            if not blob.exists():
                complete_blob(blob, listing, name, show)
            link(blob, path)
    return path


@contextlib.contextmanager
def locked(listing, file):
    """Locks a file against other downloads, as huggingface_hub does."""
    from huggingface_hub.file_download import repo_folder_name
    from huggingface_hub.utils import WeakFileLock

    locks = repo_folder_name(repo_id=listing.repository, repo_type="model")
    lock = cache_of(listing.repository).parent / ".locks" / locks / f"{file.digest}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        yield


def complete_blob(blob, listing, name, show):
    """Downloads the rest of a file into the folder of blobs, which are named after their digest."""
    file, partial = listing.files[name], partial_file(blob)
    url = library().hf_hub_url(listing.repository, name, revision=listing.revision)
    bars = library().utils.tqdm if sys.stderr.isatty() else lines_by(show)
    blob.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        with open(partial, "ab") as output:
            if output.tell() > file.size:
                output.truncate(0)
                output.seek(0)
            if done := output.tell():
                show(f"{name}: resumed after {megabytes(done)} of {megabytes(file.size)}")
            options = {"total": file.size, "initial": done, "unit": "B", "unit_scale": True}
            try:
                with bars(desc=name, **options) as bar:
                    append_rest(url, output, file.size, bar.update)
            except ValueError:  # the answer is not this file
                partial.unlink()
                raise
        if has_digest(partial, file):
            partial.replace(blob)
            return
        partial.unlink()
        if not done:
            break
        show(f"{name}: the partial file in the cache was damaged; it is downloaded again")
    raise ValueError(mismatch(listing, name))


def link(blob, path):
    """Links a blob where other programs look for the file; moves it in a cache without links."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # a link to a blob that is gone
    if not library().constants.HF_HUB_DISABLE_SYMLINKS:
        with contextlib.suppress(OSError):
            path.symlink_to(os.path.relpath(blob, path.parent))
            return
    shutil.move(blob, path)


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
