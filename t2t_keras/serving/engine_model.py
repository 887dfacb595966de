"""A model with an engine that needs no SavedModel: CTranslate2's or LiteRT's.

It has the signatures of a SavedModel. This file does not load TensorFlow.
"""

from t2t_keras.serving.pair_signatures import PairSignatures
from t2t_keras.serving.signatures import metadata_of
from t2t_keras.serving.translations import Translations, can


class EngineModel:
    """A loaded model.

    Args:
        engine: its engine.

    Attributes:
        engine: the same.
        translations: its `Translations`.
        signatures: signatures besides those of `translations`.
        metadata: of all signatures by name, in the form of TensorFlow Serving.
        shapes: shapes that another thread compiles: None.
    """

    def __init__(self, engine):
        engine.name = "this model"  # clients need not know its path
        self.engine, self.shapes = engine, None
        self.translations = Translations(engine, engine.tag)
        self.signatures = {}
        if can(lambda: self.translations.translator.tokenizer):  # all sources have the same tag
            self.signatures = PairSignatures(self.translations.translator).all()
        others = {name: metadata_of(each) for name, each in self.signatures.items()}
        self.metadata = self.translations.metadata | others

    def warm_up(self):
        # Not the other signatures: each would take the memory of its program's weights.
        self.engine.warm_up()
