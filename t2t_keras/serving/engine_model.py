"""A model for CTranslate2 or LiteRT, with the same signatures as a SavedModel.

This module does not import TensorFlow.
"""

from t2t_keras.serving.pair_signatures import PairSignatures
from t2t_keras.serving.signatures import metadata_of
from t2t_keras.serving.translations import Translations, can


class EngineModel:
    """A loaded model.

    Args:
        engine: the model's engine.

    Attributes:
        engine: the model's engine.
        translations: the `Translations`.
        signatures: {name: `Signature`} for the signatures that `translations` lacks.
        metadata: {name: metadata in TensorFlow Serving's format} for all signatures.
    """

    def __init__(self, engine):
        engine.name = "this model"  # hides the path from clients
        self.engine = engine
        self.translations = Translations(engine, engine.tag)
        self.signatures = {}
        if can(lambda: self.translations.translator.tokenizer):  # fails if sources differ in tags
            self.signatures = PairSignatures(self.translations.translator).all()
        others = {name: metadata_of(each) for name, each in self.signatures.items()}
        self.metadata = self.translations.metadata | others

    def warm_up(self):
        # The other signatures stay cold: each would need memory for its program's weights.
        self.engine.warm_up()
