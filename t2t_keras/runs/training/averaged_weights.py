"""The averaged weights of a run, and the record of where they come from.

    RUN/averaged.weights.h5  the weights
    RUN/averaged.json        {digest of the weights: record}

A record has these fields:

    steps              steps of the averaged checkpoints. null: unknown
    newest_checkpoint  digest of the run's newest checkpoint at that time
    made_by            "t2t-train" or "t2t-average". null: a version that wrote no records
    chosen             result of the comparison: the run's default weights, "averaged" or a step
    compared           name, BLEU and p-value of all weights in the comparison
    compared_on        held-out set and number of lines of the comparison
    bleu               BLEU of these weights, measured by t2t-train, and the held-out set
    bleu_by_set        "bleu" for each held-out set with a name

The modification times of the files are not used, because every copy changes them.
"""

import contextlib
import fcntl
import functools
import os
import shutil
import zipfile

from pipelines.atomic_files import file_digest, not_through_link, read_json, write_json


class AveragedWeights:
    """The averaged weights in a run's folder.

    Args:
        folder: the run's folder, a `Path`.
    """

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "averaged.weights.h5"
        self.record_path = folder / "averaged.json"

    def digest(self):
        """Returns the digest of the weights, or None if there are none."""
        return digest_of_version(self.path, file_key(self.path)) if self.path.exists() else None

    def records(self):
        """Returns {digest of the weights: record}.

        A killed process may have left a second record, for weights that it did not finish writing.
        """
        remedy = "Run t2t-average, which writes new averaged weights, or delete it"
        return read_json(self.record_path, {}, remedy)

    def digest_and_records(self):
        """Returns consistent `digest()` and `records()`, even if the weights are being replaced."""
        while True:
            digest, records = self.digest(), self.records()
            if self.digest() == digest:
                return digest, records

    def record(self):
        """Returns the record of the weights, or None if weights or record are missing."""
        digest, records = self.digest_and_records()
        return records.get(digest)

    def write(self, model, **record):
        """Writes the weights of a model and the record.

        At any moment, the file of records contains the record of the present weights.
        """
        unfinished = self.folder / "unfinished.weights.h5"
        with self.locked():
            self.adopt(None)
            try:
                save_weights(model, unfinished)
                new = {file_digest(unfinished): record}
                write_json(self.record_path, self.record_in_place() | new)
                unfinished.replace(self.path)
            finally:
                unfinished.unlink(missing_ok=True)
            write_json(self.record_path, new)

    @contextlib.contextmanager
    def locked(self):
        """Waits until no other process changes the weights or the records."""
        with open(self.folder / ".averaged.lock", "a", opener=not_through_link) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def record_in_place(self):
        """Returns {digest of the present weights: record}, or {} if the file is damaged."""
        try:
            records = self.records()
        except ValueError:
            return {}
        return {digest: record for digest, record in records.items() if digest == self.digest()}

    def add(self, digest, **facts):
        """Adds facts to the record of the weights, unless they have been replaced.

        Args:
            digest: digest of the weights to which the facts apply.
            **facts: entries of the record.
        """
        with self.locked():
            if digest != self.digest():
                raise ValueError(
                    f"{self.path} was replaced by a different process while it was scored. Run the "
                    "same command again to score the new weights"
                )
            write_json(self.record_path, {digest: self.record() | facts})

    def adopt(self, newest_checkpoint):
        """Adds a record with `newest_checkpoint` for weights that have no record."""
        if self.path.exists() and not self.record_path.exists():
            facts = {"steps": None, "newest_checkpoint": newest_checkpoint, "made_by": None}
            write_json(self.record_path, {self.digest(): facts})

    def is_of(self, newest_checkpoint):
        """Returns whether averaged weights were made when this checkpoint was the newest."""
        digest, records = self.digest_and_records()
        made_then = [
            key for key, each in records.items() if each["newest_checkpoint"] == newest_checkpoint
        ]
        if digest is not None and digest not in records and made_then:
            raise self.mismatch()
        return digest in made_then

    def check(self):
        """Raises `ValueError` if the record describes different weights."""
        digest, records = self.digest_and_records()
        if records and digest not in records:
            raise self.mismatch()

    def load_into(self, model):
        """Assigns the weights to a model. Raises `ValueError` if they are damaged."""
        self.check()
        try:
            model.load_weights(self.path)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError) as error:
            raise ValueError(
                f"{self.path} cannot be read: {' '.join(str(error).split())}. Run t2t-average to "
                "write it again"
            ) from error

    def mismatch(self):
        return ValueError(
            f"{self.path} is not the file that {self.record_path.name} describes: it was damaged "
            f"or replaced. Run t2t-average to write it again, or delete {self.record_path.name} to "
            "use it as it is"
        )


def save_weights(model, path):
    """Writes the same file as `model.save_weights`, but raises `OSError` on failure.

    On a full disk, HDF5 would crash the process. For a .keras file, Keras first writes the weights
    to memory.
    """
    archive = path.with_suffix(".keras")
    try:
        model.save(archive)
        with (
            zipfile.ZipFile(archive) as file,
            file.open("model.weights.h5") as weights,
            open(path, "wb") as output,
        ):
            shutil.copyfileobj(weights, output)
            output.flush()
            os.fsync(output.fileno())
    finally:
        archive.unlink(missing_ok=True)


def file_key(path):
    """Returns a key that changes whenever a file changes while this process runs.

    It includes the time of the last change, which cannot be set, unlike the modification time.
    """
    status = path.stat()
    return str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@functools.lru_cache(maxsize=32)
def digest_of_version(path, key):
    return file_digest(path)
