"""The Transformer of "Attention Is All You Need", for Keras 3.

Importing this package loads Keras and whichever backend it is set to, and nothing else.
"""

from t2t_keras.losses import LabelSmoothedCrossEntropy
from t2t_keras.metrics import Perplexity, TokenAccuracy
from t2t_keras.schedules import TransformerSchedule
from t2t_keras.training import TrainableTransformer as Transformer
from t2t_keras.transformer_config import TransformerConfig

__all__ = [
    "LabelSmoothedCrossEntropy",
    "Perplexity",
    "TokenAccuracy",
    "Transformer",
    "TransformerConfig",
    "TransformerSchedule",
]

__version__ = "0.1.0"
