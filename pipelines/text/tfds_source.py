"""Sentence pairs from TensorFlow Datasets, such as `wmt14_translate/de-en`."""

from pathlib import Path

import tensorflow as tf
import tensorflow_datasets as tfds

from pipelines.checks import SourceError


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
        self.builder, self.split = find_builder(name, data_dir), split
        info = self.builder.info
        self.name = info.full_name
        if languages is None:
            # Some data sets have three supervised keys. The first two are input and output.
            languages = (info.supervised_keys or list(info.features))[:2]
        self.languages = tuple(languages)
        if len(self.languages) != 2 or not {*self.languages} <= {*info.features}:
            raise SourceError(
                f"`languages` must be two of {self.name}'s features: {', '.join(info.features)}. "
                f"Received: {','.join(map(str, languages))}"
            )

    def prepare(self):
        """Downloads and prepares the data set if necessary."""
        try:
            self.builder.download_and_prepare()
        except Exception as error:  # downloads, mirrors and parsers raise all kinds of errors
            raise SourceError(
                f"TFDS could not prepare {self.name}: {type(error).__name__}: {error}. If a "
                "package is missing, install it. Otherwise, try again later, because mirrors are "
                "often down; or prepare it on a different machine and give that folder as "
                "`data_dir`; or download the texts yourself and give them as files with one "
                "sentence per line"
            ) from error

    def __iter__(self):
        self.prepare()
        # Files are read sequentially, so that the order is always the same.
        order = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False, add_tfds_id=False)
        try:
            data = self.builder.as_dataset(split=self.split, shuffle_files=False, read_config=order)
        except ValueError as error:
            raise SourceError(
                f"{self.name} has no split {self.split!r}: {error}. It has: "
                f"{', '.join(self.builder.info.splits)}"
            ) from error
        try:
            for example in tfds.as_numpy(data):
                source, target = (example[name] for name in self.languages)
                if not isinstance(source, bytes) or not isinstance(target, bytes):
                    raise SourceError(
                        f"{self.name}: {self.languages} must be texts. Received: {source!r}"
                    )
                yield source, target
        except tf.errors.DataLossError as error:
            raise SourceError(
                f"{self.name} is damaged on this disk: {error.message}. Delete "
                f"{self.builder.data_dir} and prepare it again"
            ) from error

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
        place = f" in {data_dir}" if data_dir else ""
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SourceError(
            f"TFDS has no data set {name!r}{place}: {message}. Build a data set of your own first "
            "(`tfds build`), then give its folder or `data_dir`"
        ) from error
