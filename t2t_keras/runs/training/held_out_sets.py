"""The held-out sets of a run: read before training, encoded and translated during training."""

import itertools
import math

import numpy as np
from absl import logging

from pipelines.batches.batch_plan import BatchPlan
from pipelines.batches.dataset import TrainingData
from pipelines.batches.encoding import encoded
from pipelines.batches.id_store import SIDES
from pipelines.tokenizers.tags import chosen_tag, tagged
from pipelines.toy.grammar import pairs
from t2t_keras.evaluation.held_out import HeldOut
from t2t_keras.training.early_stopping import watched_metric
from t2t_keras.translating.engines.model import ModelEngine
from t2t_keras.translating.translator import Translator

SAMPLE = 200_000  # maximum number of ids per side and shard that are counted
LINES = 1000  # maximum number of lines of a held-out set that are compared
FEWEST = 50  # minimum number of tokens for recognizing a language
DIFFERENCE = 1.0  # nats per token by which the wrong language must be more probable


def held_out_texts(experiment):
    """Returns {name of a held-out set: pairs}, the main set first."""
    data = experiment.data
    texts = {each.name: each.read() for each in data.held_out_files()}
    if not texts and not data.folder:
        texts[""] = pairs(300, "test")
    watched_metric(experiment.training.best_metric, list(texts))  # rejects an unknown set
    return {name: lines[: data.dev_pairs or None] for name, lines in texts.items()}


def tags_of_sets(experiment, tags):
    """Returns {name of a held-out set in files: tag or None}; for `tags`, see `chosen_tag`."""
    chosen = {}
    for each in experiment.data.held_out_files():
        try:
            chosen[each.name] = chosen_tag(each.to, tags)
        except ValueError as error:
            raise ValueError(
                f"Held-out set {each.name or each.source!r}: {error}, as in "
                "--dev=NAME=SOURCE,TARGET,TO"
            ) from error
    return chosen


def held_out_sets(experiment, texts, tags, tokenizer, model):
    """Returns the `HeldOut` sets for evaluation of a model during training.

    For texts and tags, see `held_out_texts` and `tags_of_sets`. The tokenizer has no tag.
    """
    data = experiment.data
    longest = model.longest if data.batches.too_long == "drop" else None
    # Greedy search, because evaluations are frequent. The final BLEU uses the run's search.
    greedy = experiment.search.greedy()
    engine = ModelEngine(model, tokenizer, greedy, split="off", tags=[*{None, *tags.values()}])
    sets = []
    for name, lines in texts.items():
        tag = tags.get(name)
        own = tagged(tokenizer, tag)
        store = held_out_store(lines, own, longest, name)
        batches = TrainingData(store, BatchPlan(store.lengths + 1, data.batches, seed=None))
        translator = Translator(engine, tag)
        texts_of_set = zip(*lines, strict=True)
        sets.append(HeldOut(batches, *texts_of_set, translator, name=name, tag=tag))
    return sets


def held_out_store(texts, tokenizer, longest, name=""):
    """Returns the encoded pairs, except those that are too long for the model's positions."""
    store = encoded(texts, tokenizer)
    fits = (store.lengths[0] < (longest or math.inf)).all(axis=1)  # begin or end is added, so <
    if fits.all():
        return store
    of = f" of {name}" if name else ""
    counts = f"{len(texts) - fits.sum():,} of {len(texts):,} held-out pairs{of}"
    if not fits.any():
        raise ValueError(
            f"{counts} have more than {longest - 1} pieces on a side, and the model has learned "
            "positions for no more. Use shorter held-out text, or train without it"
        )
    logging.warning(
        "%s have more than %d pieces on a side, and the model has learned positions for no more. "
        "They do not count in the held-out loss. In BLEU they do: they are translated in parts",
        counts,
        longest - 1,
    )
    return encoded(list(itertools.compress(texts, fits)), tokenizer)


def swapped_warnings(texts, store, tokenizer):
    """Yields a warning for each side of a held-out set that is in the language of the other side.

    The check compares token frequencies with those on the two sides of the training text, if both
    sides share a vocabulary. The held-out text must be much more probable under the frequencies of
    the wrong side, so that similar languages and training in both directions cause no warning.

    `texts` are {name of a held-out set: pairs}. The `IdStore` and the tokenizer, which has no tag,
    are those of the training text.
    """
    if tokenizer.source is not tokenizer.target:
        return
    log_p = {side: token_log_p(store, side, tokenizer.size) for side in SIDES}
    for name, examples in texts.items():
        columns = zip(*examples[:LINES], strict=True)
        for side, other, lines in zip(SIDES, SIDES[::-1], columns, strict=True):
            ids = np.concatenate(tokenizer.encode(list(lines)))
            gain = log_p[other][ids] - log_p[side][ids]
            if len(ids) >= FEWEST and gain.mean() > DIFFERENCE:
                yield (
                    f"The held-out {side} text{f' of {name}' if name else ''} seems to be in the "
                    f"language of the training {other} text: {lines[0]!r}. Check that the files "
                    "are not swapped"
                )


def token_log_p(store, side, size):
    """Returns the log-probability of each id on one side of the training text."""
    counts = np.ones(size)
    for shard in store.shards:
        counts += np.bincount(shard.of_side(side)[:SAMPLE], minlength=size)
    return np.log(counts / counts.sum())
