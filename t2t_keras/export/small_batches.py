"""Translates batches of few texts with the signatures of a SavedModel that XLA compiles."""

import collections
import itertools
import time

import numpy as np
import tensorflow as tf

from t2t_keras.decoding.compiled_shapes import SMALL, STAGED, CompiledShapes, stages_of
from t2t_keras.export.signature_constants import BATCH, SMALL_BATCH


class SmallBatches:
    """The small batches of a SavedModel.

    Args:
        signatures: the signatures of a loaded SavedModel. Batches for which it has none, because
            it was written by an earlier version of this package, are left to the others.
        in_background: see `CompiledShapes`.
    """

    def __init__(self, signatures, in_background=False):
        self.signatures = {}
        for name, rows in ((SMALL_BATCH, SMALL), (BATCH, STAGED)):
            if name in signatures:
                # One object for all rows: it loads its graph when it is first called.
                self.signatures |= dict.fromkeys(rows, signatures[name])
        self.shapes = CompiledShapes(
            self.compile, rows=tuple(self.signatures), in_background=in_background
        )
        self.warm = False
        self.seconds = collections.Counter()  # taken by the others while no shape could pay yet

    def compile(self, shape):
        if shape.rows in SMALL:
            self.call(shape.rows, ["a"] * shape.rows, [shape.length])
        else:  # the first stage has the smallest number of rows that it may have
            self.call(shape.rows, [], [shape.length], stages=[shape.rows])

    def call(self, rows, texts, lengths, stages=None):
        """Returns the outputs of the signature for shapes with so many rows.

        Args:
            rows: the rows of the shape.
            texts: the texts.
            lengths: the lengths that are compiled, ascending.
            stages: the rows that stages may have, ascending. None: it has no stages.
        """
        inputs = {"text": tf.constant(texts, tf.string, [len(texts)])}
        inputs["lengths"] = tf.constant(lengths, tf.int32)
        if stages is not None:
            inputs["rows"] = tf.constant(stages, tf.int32)
        outputs = self.signatures[rows](**inputs)
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def translate(self, texts, otherwise):
        """Returns `translations` and `scores` of a sequence of texts.

        Args:
            texts: the texts.
            otherwise: function that does the same for any number of texts.
        """
        rows = self.shapes.rows_for(len(texts))
        if rows is None or len(texts) == 0:
            return otherwise(texts)
        ready = sorted(shape.length for shape in self.shapes.ready if shape.rows == rows)
        started = time.perf_counter()
        if not ready and not self.shapes.pays(rows, self.seconds[rows]):
            results = otherwise(texts)  # and the graph of the signature need not be loaded
            if self.warm:  # the first call takes longer
                self.seconds[rows] += time.perf_counter() - started
            self.warm = True
            return results
        if rows in SMALL:  # The added rows repeat the first text, so they add no steps.
            filled = [*texts, *[texts[0]] * (rows - len(texts))]
            outputs = self.call(rows, filled, ready)
            if not outputs["finished"] and max(outputs["length"]) <= max(ready[:-1], default=0):
                outputs = self.call(rows, filled, ready[-1:])  # with more room for an output
        else:
            outputs = self.call(rows, texts, ready, stages_of(rows))
        if outputs["finished"]:
            return {name: outputs[name][: len(texts)] for name in ("translations", "scores")}
        lengths = np.ravel(outputs["length"])[: len(texts)]
        fits = (lengths > 1) & (lengths <= max(ready, default=0))
        if fits.any() and not fits.all():
            return self.translate_apart(texts, fits, otherwise)
        started = time.perf_counter()
        results = otherwise(texts)
        if shape := self.shape_without(rows, lengths):
            self.shapes.add_seconds(shape, time.perf_counter() - started)
        return results

    def translate_apart(self, texts, fits, otherwise):
        """Translates texts that fit into a compiled shape, and then the others.

        Args:
            texts, otherwise: see `translate`.
            fits: for each text, whether it fits.
        """
        short, long = (
            self.translate(list(itertools.compress(texts, mask)), otherwise)
            for mask in (fits, ~fits)
        )
        order = np.argsort(np.argsort(~fits, kind="stable"))
        return {name: np.concatenate([short[name], long[name]])[order] for name in short}

    def shape_without(self, rows, lengths):
        """Returns the shape for texts of these lengths without those that fit into none."""
        longest = max((s.length for s in self.shapes.shapes if s.rows == rows), default=0)
        return self.shapes.shape_for(rows, max(lengths[lengths <= longest], default=np.inf))
