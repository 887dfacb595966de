"""The models that this package trains, and their names in config.json."""

from t2t_keras.rivals.bytenet import ByteNet
from t2t_keras.rivals.convs2s import ConvS2S
from t2t_keras.rivals.gnmt import GNMT
from t2t_keras.rivals.moe import MoE
from t2t_keras.transformer import Transformer

MODELS = {
    "transformer": Transformer,
    "gnmt": GNMT,
    "moe": MoE,
    "convs2s": ConvS2S,
    "bytenet": ByteNet,
}


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
    if architecture not in MODELS:
        raise ValueError(
            f"`architecture` must be one of {', '.join(MODELS)}. Received: {architecture!r}"
        )
    return MODELS[architecture].config_class
