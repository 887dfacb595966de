"""Sentence pairs from TensorFlow Datasets, such as `wmt14_translate/de-en`."""

import itertools
from pathlib import Path

import tensorflow as tf
import tensorflow_datasets as tfds

from pipelines.text.sources import SourceError


class TfdsPairs:
    """The pairs of a TFDS data set, which is downloaded and prepared if necessary.

    Args:
        name: TFDS name of the data set, with or without the prefix "tfds:"; or the folder of a
            prepared data set; or a builder.
        languages: names of the source and target features, such as ("en", "de"). If None, the data
            set's supervised keys or, without such keys, its first two features.
        split: split to read, such as "train" or "train[:1%]".
        data_dir: folder of prepared data sets. If None, TFDS's default.
    """

    def __init__(self, name, languages=None, split="train", data_dir=None):
        self.builder = find_builder(name, data_dir)
        self.split = split
        self.name = self.builder.info.full_name
        self.languages = self.checked_languages(languages)

    def checked_languages(self, languages):
        info = self.builder.info
        if languages is None:
            # Some data sets have three supervised keys. The first two are input and output.
            languages = (info.supervised_keys or list(info.features))[:2]
        languages = tuple(languages)
        unknown = [name for name in languages if name not in info.features]
        if unknown or len(languages) != 2:
            raise SourceError(
                f"`languages` must be two of {self.name}'s features: {', '.join(info.features)}. "
                f"Received: {','.join(map(str, languages))}"
            )
        return languages

    def prepare(self):
        """Downloads and prepares the data set if necessary."""
        try:
            self.builder.download_and_prepare()
        except ImportError as error:
            raise SourceError(
                f"Preparing {self.name} needs a package that is not installed: {error}"
            ) from error
        except Exception as error:  # downloads, mirrors and parsers raise all kinds of errors
            raise SourceError(
                f"TFDS could not prepare {self.name}: {type(error).__name__}: {error}. Try again "
                "later, because mirrors are often down; or prepare it on a different machine and "
                "give that folder as `data_dir`; or download the texts yourself and give them as "
                "files with one sentence per line"
            ) from error

    def __iter__(self):
        self.prepare()
        try:
            data = self.builder.as_dataset(
                split=self.split,
                shuffle_files=False,
                # Files are read sequentially, so that the order is always the same.
                read_config=tfds.ReadConfig(
                    interleave_cycle_length=1, try_autocache=False, add_tfds_id=False
                ),
            )
        except ValueError as error:
            raise SourceError(
                f"{self.name} has no split {self.split!r}: {error}. It has: "
                f"{', '.join(self.builder.info.splits)}"
            ) from error
        examples = self.undamaged(tfds.as_numpy(data))
        first = next(examples, None)
        if first is None:
            raise SourceError(f"The split {self.split!r} of {self.name} is empty")
        for example in itertools.chain([first], examples):
            source, target = (example[name] for name in self.languages)
            if not isinstance(source, bytes) or not isinstance(target, bytes):
                raise SourceError(
                    f"{self.name}: {self.languages} must be texts. Received: {source!r}"
                )
            yield source, target

    def undamaged(self, examples):
        """Yields the examples. Raises `SourceError` if one of them is damaged."""
        try:
            yield from examples
        except tf.errors.DataLossError as error:
            raise SourceError(
                f"{self.name} is damaged on this disk: {error.message}. Delete "
                f"{self.builder.data_dir} and prepare it again"
            ) from error

    def chunks(self, size):
        """Returns sources of `size` pairs each, which can be read independently of each other."""
        self.prepare()
        if "[" in self.split or "+" in self.split:
            raise SourceError(f"Only a whole split can be read in parts. Received: {self.split!r}")
        count = self.builder.info.splits[self.split].num_examples
        return [
            TfdsPairs(self.builder, self.languages, f"{self.split}[{first}:{end}]")
            for first, end in ((n, min(n + size, count)) for n in range(0, count, size))
        ]

    def fingerprint(self):
        """Returns the name, version and sizes of the data set, without reading it."""
        self.prepare()
        sizes = {
            name: [split.num_bytes, *split.shard_lengths]
            for name, split in self.builder.info.splits.items()
        }
        return {"data set": f"{self.name} {self.languages} {self.split} {sizes}"}


def find_builder(name, data_dir):
    """Returns the TFDS builder for a name or a folder. A builder is returned unchanged."""
    if isinstance(name, tfds.core.DatasetBuilder):
        return name
    name = str(name).removeprefix("tfds:")
    try:
        if (Path(name) / "dataset_info.json").is_file():
            return tfds.builder_from_directory(name)
        return tfds.builder(name, data_dir=data_dir)
    except Exception as error:  # TFDS raises several kinds of errors for an unknown name
        message = str(error).strip().splitlines()
        raise SourceError(
            f"TFDS has no data set {name!r}{f' in {data_dir}' if data_dir else ''}: "
            f"{message[0] if message else type(error).__name__}. Build a data set of your own "
            "first (`tfds build`), then give its folder or `data_dir`"
        ) from error
