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

# Names that a held-out set cannot have: TensorBoard folders, and values of training.best_metric.
RESERVED = ("training", "held_out", "loss", "bleu")


def training_data(data, model=None):
    """Returns data with the interface that `Trainer` describes, checked for a compiled model."""
    if isinstance(data, tf.data.Dataset):
        return DatasetBatches(data, model)
    if not hasattr(data, "distributed"):
        raise ValueError(
            "`data` must be a tf.data.Dataset or the `TrainingData` of prepared text. "
            "tf.data.Dataset.from_generator makes a dataset of any other source of batches. "
            f"Received: {type(data).__name__}"
        )
    return data


def held_out_sets(held_out, model=None):
    """Returns a list of held-out sets with the interface that `Trainer` describes.

    `held_out` is a `tf.data.Dataset`, {name: dataset}, or a list of datasets or such sets.
    """
    if isinstance(held_out, dict):
        for name in held_out:
            check_name(name)
        return [HeldOutBatches(dataset, name, model) for name, dataset in held_out.items()]
    given = [held_out] if isinstance(held_out, tf.data.Dataset) else held_out
    sets = [
        HeldOutBatches(each, model=model) if isinstance(each, tf.data.Dataset) else each
        for each in given
    ]
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
    """Training data from a `tf.data.Dataset`, with the interface that `Trainer` describes.

    Several replicas share the rows of each batch.
    """

    corpora = {}

    def __init__(self, dataset, model=None):
        check_batches("data", dataset, model)
        self.dataset, self.labels_are_ids = dataset, takes_ids(model)
        self.element_spec = dataset.element_spec
        steps = int(dataset.cardinality())
        self.steps_per_epoch = steps if steps > 0 else None  # None: infinite or unknown

    def distributed(self, strategy, start_step=0):
        """Returns the batches from `start_step` on for a `tf.distribute` strategy."""
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise ValueError(
                "A tf.data.Dataset trains on one machine, with any number of GPUs: several "
                "machines would have to agree on their parts of each batch. Use the `TrainingData` "
                "of prepared text. Received: a MultiWorkerMirroredStrategy"
            )
        batches = self.dataset.repeat().skip(start_step) if start_step else self.dataset.repeat()
        self.local = strategy.experimental_local_results
        self.batches = strategy.experimental_distribute_dataset(batches)
        self.element_spec = self.batches.element_spec
        return self

    def __iter__(self):
        """Yields the batches, each after counting its real tokens."""
        has_begun = False
        for batch in self.batches:
            inputs, has_begun = batch[0], True
            if self.labels_are_ids:
                check_lengths(*(self.local(x)[0].shape for x in (inputs["target"], batch[1])))
            # Not converted to numbers yet, which would wait for the devices.
            self.counts = [
                tf.math.count_nonzero(ids)
                for each in keras.tree.flatten(inputs)
                for ids in self.local(each)
            ]
            yield batch
        found, advice = "no batches", "a file is empty, or all examples were filtered out"
        if has_begun:
            found = "batches in its first pass only"
            advice = "it is made from a generator that can be read once: from_generator needs a "
            advice += "function that begins anew"
        raise ValueError(f"The dataset has {found}. Perhaps {advice}")

    def tokens(self, step):
        """Returns the number of non-padding tokens in the newest batch, both sides combined."""
        return sum(map(int, self.counts))

    def examples(self, step):
        """Returns None: the sentence pairs of a batch have no indices."""
        return None

    def seen(self, step):
        return {}


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
    """Raises `ValueError` unless the elements of a dataset are batches for Keras' `fit`."""
    spec = dataset.element_spec
    parts = keras.tree.flatten(spec)
    dense = all(isinstance(each, tf.TensorSpec) and each.shape.rank for each in parts)
    labels = keras.tree.flatten(spec[1]) if isinstance(spec, tuple) and len(spec) in (2, 3) else ()
    if not dense or not labels or any(each.shape.rank < 2 for each in labels):
        raise ValueError(
            f"The elements of the dataset `{name}` must be batches "
            '({"source": ids, "target": ids}, labels) or ({…}, labels, weights), padded with 0 to '
            "one length and of known ranks. dataset.padded_batch(32) makes such batches of single "
            f"pairs. Received: {spec}"
        )
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
