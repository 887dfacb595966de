"""Training: the step, the trainer, checkpoints. TensorFlow lives here; the model does without.

`TrainableTransformer` is the `Transformer` that the package offers: on TensorFlow with the step of
`replica_step.py`, on any other backend with Keras' own. `Adam` likewise.
"""

import keras

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.adam import Adam
    from t2t_keras.training.replica_step import TrainableTransformer
else:
    from keras.optimizers import Adam

    from t2t_keras.transformer import Transformer as TrainableTransformer

__all__ = ["Adam", "TrainableTransformer"]
