"""The models that this package trains, and their names in config.json."""

import importlib

from pipelines.registry import Registry
from t2t_keras.checks import check_choice
from t2t_keras.rivals.bytenet import ByteNet
from t2t_keras.rivals.convs2s import ConvS2S
from t2t_keras.rivals.gnmt import GNMT
from t2t_keras.rivals.moe import MoE
from t2t_keras.sequence_model import ModelConfig, SequenceModel
from t2t_keras.transformer import Transformer


class Models(Registry):
    """{name: class of a model}. A new one must be a model that can be told from the others."""

    def __setitem__(self, name, model):
        if not (isinstance(model, type) and issubclass(model, SequenceModel)):
            raise ValueError(
                f"MODELS[{name!r}] must be a class derived from SequenceModel. Received: {model!r}"
            )
        config = model.config_class
        is_settings = isinstance(config, type) and issubclass(config, ModelConfig)
        if not is_settings or "__dataclass_fields__" not in vars(config):
            raise ValueError(
                f"{model.__name__}.config_class must be the class of its settings, derived from "
                "TransformerConfig, RivalConfig or ModelConfig, with the decorator "
                f"@dataclasses.dataclass. Received: {config!r}"
            )
        for other, each in self.items():
            same = model.__name__ == each.__name__ or config is each.config_class
            if other != name and same:
                raise ValueError(
                    f"the models {other!r} and {name!r} need different names of their classes, by "
                    "which Keras loads them, and different classes of settings, by which they are "
                    f"told apart. Received: {each.__name__} with {each.config_class.__name__}, "
                    f"{model.__name__} with {config.__name__}"
                )
        super().__setitem__(name, model)
        # Registers the model as `.keras` files name it. Not imported above: training is above.
        importlib.import_module("t2t_keras.training.step.trainable_models").trainable(model)


MODELS = Models(
    "MODELS",
    "model",
    {"transformer": Transformer, "gnmt": GNMT, "moe": MoE, "convs2s": ConvS2S, "bytenet": ByteNet},
)


def architecture_of(config):
    """Returns the name in `MODELS` of the model that a config describes."""
    for name, model in MODELS.items():
        if type(config) is model.config_class:
            return name
    allowed = ", ".join(model.config_class.__name__ for model in MODELS.values())
    raise ValueError(f"`model` must be one of {allowed}. Received: {type(config).__name__}")


def model_class(config):
    """Returns the class of the model that a config describes."""
    return MODELS[architecture_of(config)]


def config_class(architecture):
    """Returns the class of the settings of a model, given its name in `MODELS`."""
    check_choice("architecture", architecture, MODELS)
    return MODELS[architecture].config_class
