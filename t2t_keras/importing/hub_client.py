"""Downloads files of the Hugging Face Hub into its cache, and resumes what was interrupted.

The package huggingface_hub makes the requests, so its environment variables and tokens apply. By
itself, version 2 begins the download of a file again when the process was killed, and compares only
its size with the Hub's. Here a partial file stays in the cache, is completed by the next call, and
every file is compared with the digest that the Hub lists.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

TIMEOUT = 10.0  # seconds until the Hub must answer
ROOM = 32 << 20  # bytes of a disk that a download leaves free
LOG_EVERY = 10.0  # seconds between two lines about a download
NAME = re.compile(r"(?!\.{1,2}(/|$))[\w.+-]+(/(?!\.{1,2}(/|$))[\w.+-]+)*", re.A)
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


def remember(listing, revision=None):
    """Records the commit of a revision in the cache, where `cached_files` finds it offline."""
    path = cache_of(listing.repository) / "refs" / (revision or "main")
    if revision != listing.revision:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(listing.revision)


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


@contextlib.contextmanager
def explained(address, revision, name=None):
    """Turns the errors of a request into a `ValueError` that says what to do.

    Args:
        address: the repository, as in "hf:ORG/NAME".
        revision: see `list_files`.
        name: name of the file, if one is downloaded.
    """
    errors, hub = library().errors, library().constants.ENDPOINT
    resumes = "The same command resumes the download" if name else ""
    login = "log in with `hf auth login`, or set HF_TOKEN"
    try:
        yield
    except errors.GatedRepoError as error:
        page = f"{hub}/{address.removeprefix('hf:')}"
        raise ValueError(
            f"{address} is gated: accept its conditions at {page}, and {login}"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ValueError(
            f"{address} has no revision {revision!r}: no branch, tag or commit of this name. "
            "Leave it out for the newest"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ValueError(
            f"{hub} has no model {address.removeprefix('hf:')}, or hides it. Check the name; if "
            f"it is private, {login}"
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise ValueError(f"{address} has no file {name} any more. Run the command again") from error
    except errors.OfflineModeIsEnabled as error:
        raise ValueError(
            f"HF_HUB_OFFLINE is set, and the cached copy of {address} is incomplete. Unset it to "
            "download the rest"
        ) from error
    except (errors.LocalEntryNotFoundError, errors.HTTPError) as error:  # HTTPError: of httpx
        response = getattr(error, "response", None)
        if isinstance(error, errors.HfHubHTTPError) and response is not None:
            raise ValueError(sentences(refusal(response, hub, login), resumes)) from error
        failure = f"no connection to {hub} ({first_line(error)})"
        advice = "Check the network, and HF_ENDPOINT and HTTPS_PROXY if they are set"
        hint = offline_hint(address, revision)
        raise ValueError(sentences(failure, advice, resumes, hint)) from error
    except OSError as error:
        if error.errno in FULL_DISK:
            failure = f"the disk of {cache_of(address.removeprefix('hf:')).parent} is full"
            advice = "Free some, or set HF_HOME to a folder on a larger disk"
            raise ValueError(sentences(failure, advice, resumes)) from error
        if error.errno is not None:
            raise
        # A download that ended early, or answers without the headers of the Hub.
        raise ValueError(sentences(f"{address}: {first_line(error)}", resumes)) from error
    except (json.JSONDecodeError, UnicodeError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{hub} did not answer as a Hugging Face Hub does. Check HF_ENDPOINT if it is set"
        ) from error


def refusal(response, hub, login):
    """Returns the reason for a status that is none of the Hub's own errors, without a period."""
    status = response.status_code
    if status in (401, 403):
        return f"{hub} refused the access ({status}): {login} of an account that may read it"
    if status == 429:
        seconds = response.headers.get("Retry-After", "")
        wait = f"{seconds} seconds" if seconds.isdecimal() else "some minutes"
        return f"{hub} received too many requests from here (429). Wait {wait}, or {login}"
    if status >= 500:
        return f"{hub} is out of order at the moment ({status}). Try again later"
    return f"{hub} answered with the unexpected status {status}. Check HF_ENDPOINT if it is set"


def sentences(*parts):
    return ". ".join(filter(None, parts))


def offline_hint(address, revision):
    """Returns a sentence about a cached copy of a repository; "" if there is none."""
    try:
        cached_files(address.removeprefix("hf:"), revision)
    except ValueError:
        return ""
    return "HF_HUB_OFFLINE=1 uses the copy in the cache"


def first_line(error):
    """Returns the first sentence of an error, without the address of a file."""
    line = (str(error).strip() or type(error).__name__).split("\n")[0]
    return re.sub(r"https?://[\w.]\S*", "the file", line).rstrip(". ")


def mismatch(listing, name):
    return (
        f"{name} of {listing} was damaged on the way: it does not have the digest that the Hub "
        "lists. Run the same command again"
    )


def megabytes(size):
    return f"{size / 1e6:,.1f} MB"


def cache_of(repository):
    """Returns the folder of a repository in the cache of huggingface_hub."""
    from huggingface_hub.file_download import repo_folder_name

    name = repo_folder_name(repo_id=repository, repo_type="model")
    return Path(library().constants.HF_HUB_CACHE) / name


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
