"""Loading of SavedModels that may take text."""

import importlib

import tensorflow as tf


def load(folder):
    """Loads a SavedModel after registering the text operations that it may contain."""
    importlib.import_module("tensorflow_text")  # registers its operations when imported
    return tf.saved_model.load(str(folder))
