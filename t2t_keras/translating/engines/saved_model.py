"""The engine of a SavedModel that t2t-export wrote."""

import functools

import numpy as np
import tensorflow as tf

from t2t_keras.decoding.rows import PADDING, Hypotheses, Rows
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.loading import load
from t2t_keras.export.signature_names import Ids
from t2t_keras.training.hardware.devices import choose_xla, prepare_devices
from t2t_keras.translating.engines.engine import Engine
from t2t_keras.translating.required_phrases import REQUIRED_LONGEST

# Shapes of batches for which XLA compiles the search on a GPU, which spends most of a step of few
# rows between small operations. Smaller batches are padded; others are searched in stages.
SMALL_ROWS, SMALL_LENGTHS = 4, (16, 32, 64)


class SavedModelEngine(Engine):
    """Searches with the signatures of a SavedModel that take ids.

    Args:
        folder: the SavedModel's folder, which may be removed after loading.
        signatures: {name: function of tensors} of the loaded SavedModel. None: it is loaded here.
    """

    phrase_room = REQUIRED_LONGEST  # time and memory grow with the phrases

    def __init__(self, folder, signatures=None):
        prepare_devices()
        self.open(folder)
        if signatures is None:
            self.model = load(folder)  # keeps the variables
            signatures = self.model.signatures
        self.signatures = signatures
        if Ids.OPTIONS not in signatures:  # a search method of a plug-in file
            self.offers = ("n_best",)
        self.has_attention = Ids.ATTENTION in signatures
        lengths = SMALL_LENGTHS if choose_xla("auto") else ()
        self.small_lengths = [n for n in lengths if self.longest is None or n <= self.longest]

    def check(self, config, prefix, phrases):
        super().check(config, prefix, phrases)
        if (prefix or phrases) and Ids.OPTIONS not in self.signatures:
            raise ValueError(
                f"the search method of {self.name}, {self.config.method!r}, has neither prefixes "
                "nor required phrases in an export. Give the run"
            )
        self.check_width(config, phrases)
        ours, wanted = vars(self.exported), vars(config)
        fixed = {name for name in wanted if wanted[name] != ours[name]}
        if Ids.OPTIONS in self.signatures:
            fixed -= ROW_OPTIONS.keys()
        elif config.n_best <= self.most:
            fixed -= {"n_best"}
        if fixed:
            name = "sample" if "method" in fixed else min(fixed)
            raise ValueError(
                f"--{name} does not work with an export: t2t-export fixed the search of "
                f"{self.name}. Give the run, or export it again"
            )

    def search(self, rows):
        config, count = self.config, len(rows.source)
        is_exported = config.n_best <= self.most and config.changed(n_best=1) == self.exported
        if rows.phrases is None and rows.prefix is None and is_exported:
            return self.plain(rows.source)
        values = vars(config) | ({"n_best": self.most} if is_exported else {})
        inputs = {name: np.full(count, values[name], ROW_OPTIONS[name]) for name in ROW_OPTIONS}
        inputs["source"], inputs["prefix"] = rows.source, rows.prefix
        if rows.prefix is None:
            inputs["prefix"] = np.zeros((count, 0), "int32")
        if rows.phrases is None:
            return self.hypotheses(Ids.OPTIONS, **inputs)
        return self.hypotheses(Ids.PHRASES, phrases=rows.phrases, **inputs)

    def plain(self, source):
        """Searches as exported."""
        count, width = source.shape
        lengths = [length for length in self.small_lengths if length >= width]
        if lengths and count <= SMALL_ROWS:
            filled = np.full((SMALL_ROWS, lengths[0]), PADDING, "int32")
            filled[:count, :width] = source
            filled[count:] = filled[0]  # the same row again adds no steps
            outputs = self.call(Ids.SMALL, source=filled)
            if outputs["finished"]:  # else an output does not fit into the program's arrays
                return Hypotheses(outputs["tokens"][:count], outputs["scores"][:count])
        return self.hypotheses(Ids.SEARCH, source=source)

    def hypotheses(self, name, **inputs):
        outputs = self.call(name, **inputs)
        return Hypotheses(outputs["tokens"], outputs["scores"])

    def log_p(self, source, target):
        return self.call(Ids.LOG_P, source=source, target=target)["log_probabilities"]

    def attention(self, source, target):
        return self.call(Ids.ATTENTION, source=source, target=target)["weights"]

    @functools.cached_property
    def attention_sizes(self):
        ids, is_known = np.array([3, 2], "int32"), Ids.ALL_ATTENTION in self.signatures
        found = self.all_attention(ids, ids) if is_known else {}
        return {kind: weights.shape[:2] for kind, weights in found.items()}

    def all_attention(self, source, target):
        found = self.call(Ids.ALL_ATTENTION, source=source[None], target=target[None])
        return {kind: weights[0] for kind, weights in found.items()}

    def call(self, name, **inputs):
        """Calls a signature and returns {output: array}."""
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        return {key: each.numpy() for key, each in self.signatures[name](**tensors).items()}

    def warm_up(self):
        ids, indices = np.array([[3, 2]], "int32"), [0]
        for length in self.small_lengths:
            self.plain(np.full((1, length), 3, "int32"))
        self.search(Rows(ids, indices))
        if Ids.OPTIONS in self.signatures:
            self.search(Rows(ids, indices, prefix=ids[:, :0]))
        if Ids.PHRASES in self.signatures:
            self.search(Rows(ids, indices, phrases=ids[:, None, :1]))
        self.log_p(ids, ids)
        if self.has_attention:
            self.attention(ids, ids)
