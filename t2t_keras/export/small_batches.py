"""Translates a few texts with the signature of a SavedModel that XLA compiles for each shape."""

import collections
import time

import tensorflow as tf

from t2t_keras.decoding.compiled_shapes import CompiledShapes, rows_for
from t2t_keras.export.signature_constants import COMPILED


class SmallBatches:
    """The small batches of a SavedModel.

    Args:
        signatures: the signatures of a loaded SavedModel. If it has none for small batches, because
            it was written by an earlier version of this package, every batch is left to the others.
        compile_frequent: compile a shape once that pays. False: only `shapes.compile` does.
    """

    def __init__(self, signatures, compile_frequent=True):
        self.signature = signatures.get(COMPILED)
        self.shapes = CompiledShapes(self.compile)
        self.compile_frequent, self.warm = compile_frequent, False
        self.seconds = collections.Counter()  # taken by the others while no shape could pay yet

    def compile(self, shape):
        self.call(["a"] * shape.rows, [shape.length])

    def call(self, texts, lengths):
        lengths = tf.constant(lengths, tf.int32)
        outputs = self.signature(text=tf.constant(texts), lengths=lengths)
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def translate(self, texts, otherwise):
        """Returns `translations` and `scores` of a sequence of texts.

        Args:
            texts: the texts.
            otherwise: function that does the same for any number of texts.
        """
        rows = rows_for(len(texts))
        if self.signature is None or rows is None or len(texts) == 0:
            return otherwise(texts)
        lengths = sorted(shape.length for shape in self.shapes.ready if shape.rows == rows)
        started = time.perf_counter()
        if not lengths and not self.may_pay(rows):
            results = otherwise(texts)
            if self.warm:  # the first call takes longer
                self.seconds[rows] += time.perf_counter() - started
            self.warm = True
            return results
        # The added rows repeat the first text, so they add no steps.
        outputs = self.call([*texts, *[texts[0]] * (rows - len(texts))], lengths)
        if outputs["finished"]:
            return {name: outputs[name][: len(texts)] for name in ("translations", "scores")}
        started = time.perf_counter()
        results = otherwise(texts)
        shape = self.shapes.shape_for(rows, outputs["length"])
        if self.compile_frequent and shape is not None:
            self.shapes.add_seconds(shape, time.perf_counter() - started)
        return results

    def may_pay(self, rows):
        """Returns whether a shape with so many rows may be worth it; its graph is loaded then."""
        return self.compile_frequent and self.seconds[rows] >= self.shapes.pays_after
