"""How a SavedModel that may take text is loaded."""

import importlib

import tensorflow as tf


def load(folder):
    """The SavedModel in a folder, once TensorFlow knows the operations on text in it."""
    importlib.import_module("tensorflow_text")  # registers them; nothing of it is called
    return tf.saved_model.load(str(folder))
