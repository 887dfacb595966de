"""A `tf.data.Dataset` of one's own as training data, or as a held-out set, of a `Trainer`.

Its elements are the batches that Keras' `fit` takes: `({"source", "target"}, labels)`, or
`({"source", "target"}, labels, weights)`. A finite dataset is repeated. A resumed run skips the
batches of the steps done, so it continues with the right ones if the dataset yields the same
batches in every process.
"""

import zlib

import keras
import tensorflow as tf

from t2t_keras.evaluation.held_out import TranslationResults

INTERFACE = "distributed"  # a method of all training data; see `Trainer`


def training_data(data):
    """Returns data with the interface that `Trainer` describes."""
    if isinstance(data, tf.data.Dataset):
        return DatasetBatches(data)
    if not hasattr(data, INTERFACE):
        raise ValueError(
            "`data` must be a tf.data.Dataset or the `TrainingData` of prepared text. "
            "tf.data.Dataset.from_generator makes a dataset of any other source of batches. "
            f"Received: {type(data).__name__}"
        )
    return data


def held_out_sets(held_out):
    """Returns a list of held-out sets with the interface that `Trainer` describes.

    Args:
        held_out: a `tf.data.Dataset`, {name: dataset}, or a list whose elements are datasets or
            sets with that interface.
    """
    named = held_out if isinstance(held_out, dict) else {}
    if isinstance(held_out, tf.data.Dataset):
        named, held_out = {"": held_out}, []
    sets = [HeldOutBatches(dataset, name) for name, dataset in named.items()]
    for each in () if named else held_out:
        sets.append(HeldOutBatches(each) if isinstance(each, tf.data.Dataset) else each)
    names = [each.name for each in sets]
    if len(names) > 1 and (len(set(names)) < len(names) or "" in names):
        raise ValueError(
            "Several held-out sets need a name each, such as held_out={'general': dataset, "
            f"'mine': dataset}}. Received: names {', '.join(map(repr, names))}"
        )
    return sets


class DatasetBatches:
    """Training data from a dataset, with the interface that `Trainer` describes.

    Args:
        dataset: a `tf.data.Dataset` of batches. Several replicas share the rows of each batch.
    """

    corpora = {}

    def __init__(self, dataset):
        check_batches("data", dataset)
        self.dataset = dataset
        steps = int(dataset.cardinality())
        self.steps_per_epoch = steps if steps > 0 else None  # None: infinite or unknown
        self.newest = self.count = None  # the newest batch, and its number of real tokens
        self.digest_before = None  # of the batch before the first one, if a run is resumed

    def distributed(self, strategy, start_step=0):
        """Returns the batches from `start_step` on for a `tf.distribute` strategy."""
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise ValueError(
                "A tf.data.Dataset trains on one machine, with any number of GPUs: several "
                "machines would have to agree on their parts of each batch. Use the `TrainingData` "
                "of prepared text. Received: a MultiWorkerMirroredStrategy"
            )
        skipped = max(0, start_step - 1)  # the batch before is compared with the earlier one
        batches = self.dataset.repeat().skip(skipped) if skipped else self.dataset.repeat()
        self.strategy = strategy
        return WatchedBatches(self, strategy.experimental_distribute_dataset(batches), start_step)

    def took(self, batch):
        """Notes the batch of the step that follows."""
        self.newest = batch
        inputs = batch[0]
        # Not converted to a number yet, which would wait for the devices.
        self.count = [
            tf.math.count_nonzero(ids)
            for each in keras.tree.flatten(inputs)
            for ids in self.strategy.experimental_local_results(each)
        ]

    def tokens(self, step):
        """Returns the number of non-padding tokens in the newest batch, both sides combined."""
        return sum(map(int, self.count))

    def examples(self, step):
        """Returns None: the sentence pairs of a batch have no indices."""
        return None

    def seen(self, step):
        return {}

    def state(self):
        """Returns a dict for a checkpoint's notes."""
        digest = self.digest_before if self.newest is None else self.digest(self.newest)
        return {"newest_batch": digest}

    def restore(self, notes, warn):
        """Continues after the batch of an earlier process.

        Args:
            notes: the notes of a checkpoint.
            warn: called with a message if that batch is not in its place.
        """
        self.digest_before, self.warn = notes.get("newest_batch"), warn

    def check_before(self, batch):
        """Warns if the batch before the first one is not that of the earlier process."""
        if self.digest_before not in (None, self.digest(batch)):
            self.warn(
                "The dataset has other batches than before the checkpoint, or a different order. "
                "Training goes on, but some of its data is seen twice or never. To resume with the "
                "same batches, call keras.utils.set_random_seed before the dataset is made, give "
                "each shuffle a seed, take held-out sets before it, and leave out "
                "deterministic=False"
            )

    def digest(self, batch):
        checksum = 0
        for each in keras.tree.flatten(batch):
            for part in self.strategy.experimental_local_results(each):
                checksum = zlib.crc32(part.numpy().tobytes(), checksum)
        return checksum


class WatchedBatches:
    """The distributed batches of `DatasetBatches`, which it sees before they are used."""

    def __init__(self, owner, batches, start_step):
        self.owner, self.batches, self.start_step = owner, batches, start_step
        self.element_spec = batches.element_spec

    def __iter__(self):
        batches = iter(self.batches)
        if self.start_step and (before := next(batches, None)) is not None:
            self.owner.check_before(before)
        for batch in batches:
            self.owner.took(batch)
            yield batch
        raise ValueError(
            "The dataset has no batches. Perhaps a file is empty, or all examples were filtered out"
        )


class HeldOutBatches:
    """A held-out set from a finite dataset. It has no texts, so its BLEU is not measured."""

    digest = None

    def __init__(self, dataset, name=""):
        check_batches("held_out", dataset)
        if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
            raise ValueError(
                "A held-out dataset must end, because an evaluation is one pass over it. Use "
                "dataset.take(count). Received: an infinite dataset"
            )
        self.dataset, self.name = dataset, name

    def distributed(self, strategy):
        return strategy.experimental_distribute_dataset(self.dataset)

    def translate(self, on_progress):
        return TranslationResults(metrics={}, examples=[])


def check_batches(name, dataset):
    """Raises `ValueError` unless the elements of a dataset are batches for Keras' `fit`."""
    spec = getattr(dataset, "element_spec", None)
    required = (
        f"The elements of the dataset `{name}` must be batches "
        '({"source": ids, "target": ids}, labels) or ({…}, labels, weights)'
    )
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise ValueError(f"{required}. Received: {spec}")
    dense = all(isinstance(each, tf.TensorSpec) for each in keras.tree.flatten(spec))
    if not dense or spec[1].shape.rank in (0, 1):
        raise ValueError(
            f"{required}, padded with 0 to one length. dataset.padded_batch(32) makes such batches "
            f"of single pairs. Received: {spec}"
        )
    if int(dataset.cardinality()) == 0:
        raise ValueError(f"The dataset `{name}` has no batches. Its cardinality is 0")
