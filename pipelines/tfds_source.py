"""Sentence pairs from TensorFlow Datasets, for example `wmt14_translate/de-en`."""

import itertools
from pathlib import Path

import tensorflow as tf
import tensorflow_datasets as tfds

from pipelines.sources import SourceError


class TfdsPairs:
    """The pairs of a TFDS data set, downloaded and prepared if it is not there yet.

    Args:
        name: as TFDS spells it, with or without "tfds:" before it; or the folder of a data set
            that is prepared already; or a builder.
        languages: names of the source's and the target's feature, for example ("en", "de").
            None: the data set's own order.
        split: which part, for example "train" or "train[:1%]".
        data_dir: where prepared data sets lie. None: TFDS' own place.
    """

    def __init__(self, name, languages=None, split="train", data_dir=None):
        self.builder = make_builder(name, data_dir)
        self.split = split
        self.name = self.builder.info.full_name
        self.languages = self.find_languages(languages)

    def find_languages(self, languages):
        info = self.builder.info
        if languages is None:
            # Some data sets have three supervised keys; the first two are input and output.
            languages = (info.supervised_keys or list(info.features))[:2]
        languages = tuple(languages)
        wrong = [name for name in languages if name not in info.features]
        if wrong or len(languages) != 2:
            raise SourceError(
                f"`languages` must be two of {self.name}'s features: {', '.join(info.features)}. "
                f"Received: {','.join(map(str, languages))}"
            )
        return languages

    def prepare(self):
        """Downloads and prepares the data set, unless that was done before."""
        try:
            self.builder.download_and_prepare()
        except ImportError as error:
            raise SourceError(
                f"TFDS needs a package to prepare {self.name} that is not installed: {error}"
            ) from error
        except Exception as error:  # whatever the download, a mirror or a parser may raise
            raise SourceError(
                f"TFDS could not prepare {self.name}: {type(error).__name__}: {error}. Try again, "
                "for mirrors are often down; or prepare it where that works and give that "
                "folder as `data_dir`; or fetch the texts by hand and give them as files, one "
                "sentence a line"
            ) from error

    def __iter__(self):
        self.prepare()
        try:
            read = self.builder.as_dataset(
                split=self.split,
                shuffle_files=False,
                # One file after another: the same order every time.
                read_config=tfds.ReadConfig(
                    interleave_cycle_length=1, try_autocache=False, add_tfds_id=False
                ),
            )
        except ValueError as error:
            raise SourceError(
                f"{self.name} has no split {self.split!r}: {error}. It has: "
                f"{', '.join(self.builder.info.splits)}"
            ) from error
        examples = self.whole(tfds.as_numpy(read))
        first = next(examples, None)
        if first is None:
            raise SourceError(f"{self.name} has nothing in its split {self.split!r}")
        for example in itertools.chain([first], examples):
            source, target = (example[name] for name in self.languages)
            if not isinstance(source, bytes) or not isinstance(target, bytes):
                raise SourceError(
                    f"{self.name}: {self.languages} must be texts. Received: {source!r}"
                )
            yield source, target

    def whole(self, examples):
        try:
            yield from examples
        except tf.errors.DataLossError as error:
            raise SourceError(
                f"{self.name} is damaged on this disk: {error.message}. Delete "
                f"{self.builder.data_dir} and prepare it again"
            ) from error

    def chunks(self, size):
        """The same pairs in parts that can be read independently, each of `size` pairs."""
        self.prepare()
        if "[" in self.split or "+" in self.split:
            raise SourceError(f"Only a whole split can be read in parts. Received: {self.split!r}")
        count = self.builder.info.splits[self.split].num_examples
        return [
            TfdsPairs(self.builder, self.languages, f"{self.split}[{first}:{end}]")
            for first, end in ((n, min(n + size, count)) for n in range(0, count, size))
        ]

    def fingerprint(self):
        """What tells one text from another without reading it."""
        self.prepare()
        sizes = {
            name: [split.num_bytes, *split.shard_lengths]
            for name, split in self.builder.info.splits.items()
        }
        return {"data set": f"{self.name} {self.languages} {self.split} {sizes}"}


def make_builder(name, data_dir):
    if isinstance(name, tfds.core.DatasetBuilder):
        return name
    name = str(name).removeprefix("tfds:")
    try:
        if (Path(name) / "dataset_info.json").is_file():
            return tfds.builder_from_directory(name)
        return tfds.builder(name, data_dir=data_dir)
    except Exception as error:  # TFDS raises several kinds for a name that it does not know
        said = str(error).strip().splitlines()
        raise SourceError(
            f"TFDS has no data set {name!r}{f' in {data_dir}' if data_dir else ''}: "
            f"{said[0] if said else type(error).__name__}. A data set of your own must be built "
            "first (`tfds build`), then found through its folder or `data_dir`"
        ) from error
