"""Translating with a SavedModel instead of a run, without Keras."""

import tensorflow as tf

from pipelines.sources import digest_of
from t2t_keras.export.loading import load
from t2t_keras.export.signature_graphs import SignatureGraphs
from t2t_keras.export.small_batches import SmallBatches
from t2t_keras.translating.engines.signature_translator import SignatureTranslator


class Export(SignatureTranslator):
    """A SavedModel written by t2t-export that takes and returns text.

    Args:
        folder: the SavedModel's folder.
    """

    def __init__(self, folder):
        # On a GPU, each graph might place the shared variables differently.
        gpus = tf.config.list_physical_devices("GPU")
        self.model = load(folder) if gpus else SignatureGraphs(folder)  # keeps its variables alive
        signatures = self.model.signatures if gpus else self.model
        super().__init__(self.call_signature, folder, signatures)
        # A signature that is kept imports its graph only once.
        self.signatures = {name: signatures[name] for name in signatures}
        self.small = SmallBatches(signatures)

    def digest(self):
        """Returns a digest of all files of the export."""
        return digest_of(sorted(path for path in self.folder.rglob("*") if path.is_file()))

    def call_signature(self, name, inputs):
        """Returns the outputs of a signature by name, as arrays; see `SignatureTranslator`."""
        if name == "translate_n_best":
            texts = inputs["text"].tolist()
            return self.small.translate(texts, lambda texts: self.run(name, {"text": texts}))
        return self.run(name, inputs)

    def run(self, name, inputs):
        """Does the same without the signatures that XLA compiles."""
        outputs = self.signatures[name](**{key: tf.constant(each) for key, each in inputs.items()})
        return {key: tensor.numpy() for key, tensor in outputs.items()}
