"""A model with an engine that needs no SavedModel, such as CTranslate2's.

It has the signatures of a SavedModel that translate, but none for scores and attention weights.
This file does not load TensorFlow.
"""

from t2t_keras.serving.translations import Translations


class EngineModel:
    """A loaded model.

    Args:
        engine: its engine.

    Attributes:
        translations: its `Translations`.
        signatures: signatures besides those of `translations`: none.
        metadata: of all signatures by name, in the form of TensorFlow Serving.
        shapes: shapes that another thread compiles: None.
    """

    def __init__(self, engine):
        self.translations = Translations(engine)
        self.signatures, self.metadata, self.shapes = {}, self.translations.metadata, None

    def warm_up(self):
        self.translations.translator.engine.warm_up()
