"""A model with an engine that needs no SavedModel: CTranslate2's or LiteRT's.

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
        engine.name = "this model"  # clients need not know its path
        self.translations = Translations(engine, engine.tag)
        self.signatures, self.metadata, self.shapes = {}, self.translations.metadata, None

    def warm_up(self):
        self.translations.translator.engine.warm_up()
