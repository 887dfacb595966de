"""The paper's arguments as experiments: `reproduce(Plan("arguments"))`."""

from t2t_keras.reproduction.arguments.all_arguments import reproduce

__all__ = ["reproduce"]
