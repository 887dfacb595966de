"""Training on TensorFlow: the training step, the trainer, checkpoints.

The package offers `TrainableTransformer` as `Transformer`. On TensorFlow it has the training step
of `replica_step.py`; on JAX, Keras' own step with the loss of `jax_step.py`; elsewhere it is the
plain model. `Adam` has a fused update on TensorFlow and is Keras' own elsewhere.
"""

import keras

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.adam import Adam
    from t2t_keras.training.replica_step import TrainableTransformer
else:
    from keras.optimizers import Adam

    if keras.config.backend() == "jax":
        from t2t_keras.training.jax_step import TrainableTransformer
    else:
        from t2t_keras.transformer import Transformer as TrainableTransformer

__all__ = ["Adam", "TrainableTransformer"]
