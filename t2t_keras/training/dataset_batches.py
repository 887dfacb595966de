"""A `tf.data.Dataset` of one's own as training data, or as a held-out set, of a `Trainer`.

Its elements are the batches that Keras' `fit` takes: `({"source", "target"}, labels)`, or
`({"source", "target"}, labels, weights)`. A finite dataset is repeated. A resumed run skips the
batches of the steps done, so it continues with the right ones if the dataset yields the same
batches in every process.
"""

import re

import keras
import tensorflow as tf

from t2t_keras.evaluation.held_out import TranslationResults
from t2t_keras.sequence_model import SequenceModel, check_inputs
from t2t_keras.training.step.token_sums import has_sums

INTERFACE = "distributed"  # a method of all training data; see `Trainer`
# Names that a held-out set cannot have: TensorBoard folders, and values of training.best_metric.
RESERVED = ("training", "held_out", "loss", "bleu")


def training_data(data, model=None):
    """Returns data with the interface that `Trainer` describes.

    Args:
        data: see `Trainer`.
        model: the compiled model, for which a dataset is checked.
    """
    if isinstance(data, tf.data.Dataset):
        return DatasetBatches(data, model)
    if not hasattr(data, INTERFACE):
        raise ValueError(
            "`data` must be a tf.data.Dataset or the `TrainingData` of prepared text. "
            "tf.data.Dataset.from_generator makes a dataset of any other source of batches. "
            f"Received: {type(data).__name__}"
        )
    return data


def held_out_sets(held_out, model=None):
    """Returns a list of held-out sets with the interface that `Trainer` describes.

    Args:
        held_out: a `tf.data.Dataset`, {name: dataset}, or a list whose elements are datasets or
            sets with that interface.
        model: the compiled model, for which datasets are checked.
    """
    named = held_out if isinstance(held_out, dict) else {}
    for name in named:
        check_name(name)
    if isinstance(held_out, tf.data.Dataset):
        named, held_out = {"": held_out}, {}
    sets = [HeldOutBatches(dataset, name, model) for name, dataset in named.items()]
    for each in () if isinstance(held_out, dict) else held_out:
        is_dataset = isinstance(each, tf.data.Dataset)
        sets.append(HeldOutBatches(each, model=model) if is_dataset else each)
    names = [each.name for each in sets]
    if len(names) > 1 and (len(set(names)) < len(names) or "" in names):
        raise ValueError(
            "Several held-out sets need a name each, such as held_out={'general': dataset, "
            f"'mine': dataset}}. Received: names {', '.join(map(repr, names))}"
        )
    return sets


def check_name(name):
    allowed = isinstance(name, str) and re.fullmatch(r"\w[\w.-]*", name)
    if not allowed or name.lower() in RESERVED:
        raise ValueError(
            "The name of a held-out set consists of letters, digits, '_', '-' and '.', and is not "
            f"one of {', '.join(RESERVED)}. Received: {name!r}"
        )


class DatasetBatches:
    """Training data from a dataset, with the interface that `Trainer` describes.

    Args:
        dataset: a `tf.data.Dataset` of batches. Several replicas share the rows of each batch.
        model: see `training_data`.
    """

    corpora = {}

    def __init__(self, dataset, model=None):
        check_batches("data", dataset, model)
        self.dataset, self.labels_are_ids = dataset, takes_ids(model)
        steps = int(dataset.cardinality())
        self.steps_per_epoch = steps if steps > 0 else None  # None: infinite or unknown
        self.newest = self.count = None  # the newest batch, and its number of real tokens

    def distributed(self, strategy, start_step=0):
        """Returns the batches from `start_step` on for a `tf.distribute` strategy."""
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise ValueError(
                "A tf.data.Dataset trains on one machine, with any number of GPUs: several "
                "machines would have to agree on their parts of each batch. Use the `TrainingData` "
                "of prepared text. Received: a MultiWorkerMirroredStrategy"
            )
        batches = self.dataset.repeat().skip(start_step) if start_step else self.dataset.repeat()
        self.strategy = strategy
        return WatchedBatches(self, strategy.experimental_distribute_dataset(batches))

    def took(self, batch):
        """Notes the batch of the step that follows."""
        self.newest = batch
        inputs = batch[0]
        if self.labels_are_ids:
            local = self.strategy.experimental_local_results
            check_lengths(*(local(each)[0].shape for each in (inputs["target"], batch[1])))
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


class WatchedBatches:
    """The distributed batches of `DatasetBatches`, which it sees before they are used."""

    def __init__(self, owner, batches):
        self.owner, self.batches = owner, batches
        self.element_spec = batches.element_spec

    def __iter__(self):
        for batch in self.batches:
            self.owner.took(batch)
            yield batch
        if self.owner.newest is not None:
            raise ValueError(
                "The dataset has batches in its first pass only. Perhaps it is made from a "
                "generator that can be read once. from_generator needs a function that begins anew"
            )
        raise ValueError(
            "The dataset has no batches. Perhaps a file is empty, or all examples were filtered out"
        )


class HeldOutBatches:
    """A held-out set from a finite dataset. It has no texts, so its BLEU is not measured."""

    digest = None

    def __init__(self, dataset, name="", model=None):
        check_batches("held_out", dataset, model)
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


def takes_ids(model):
    """Returns whether a compiled model is trained on labels that are ids, `[batch, length]`."""
    return model is not None and type(model).call is SequenceModel.call and has_sums(model)


def check_batches(name, dataset, model=None):
    """Raises `ValueError` unless the elements of a dataset are batches for Keras' `fit`.

    Args:
        name: name of the dataset, for error messages.
        dataset: the dataset.
        model: see `training_data`.
    """
    spec = getattr(dataset, "element_spec", None)
    required = (
        f"The elements of the dataset `{name}` must be batches "
        '({"source": ids, "target": ids}, labels) or ({…}, labels, weights)'
    )
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise ValueError(f"{required}. Received: {spec}")
    parts = keras.tree.flatten(spec)
    dense = all(isinstance(each, tf.TensorSpec) for each in parts)
    if not dense or any(each.shape.rank in (0, 1) for each in keras.tree.flatten(spec[1])):
        raise ValueError(
            f"{required}, padded with 0 to one length. dataset.padded_batch(32) makes such batches "
            f"of single pairs. Received: {spec}"
        )
    if any(each.shape.rank is None for each in parts):
        raise ValueError(f"{required} of known ranks, such as shape=[None, None]. Received: {spec}")
    if int(dataset.cardinality()) == 0:
        raise ValueError(f"The dataset `{name}` has no batches. Its cardinality is 0")
    if takes_ids(model):
        try:
            check_inputs(spec[0])
            check_lengths(spec[0]["target"].shape, getattr(spec[1], "shape", spec[1]))
        except ValueError as error:
            raise ValueError(f"The dataset `{name}`: {error}") from error


def check_lengths(target, labels):
    """Raises `ValueError` if labels do not have the shape of the decoder's inputs."""
    if not (isinstance(labels, tf.TensorShape) and target.is_compatible_with(labels)):
        raise ValueError(
            "Labels must be ids of the shape of 'target', one for each of its positions. Received: "
            f"labels of shape {labels}, 'target' of shape {target}"
        )
