"""Models that can be trained, and their optimizer, on Keras' backend.

`trainable` gives a model the training step of `replica_step.py` on TensorFlow; on JAX, Keras' own
step with the loss of `jax_step.py`; elsewhere Keras' own step. The package offers
`TrainableTransformer` as `Transformer`. `Adam` has a fused update on TensorFlow and is Keras' own
elsewhere.
"""

import functools

import keras

from t2t_keras.transformer import Transformer

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.adam import Adam
    from t2t_keras.training.replica_step import TrainingStep
else:
    from keras.optimizers import Adam

    # A model that was saved on TensorFlow names the Adam that it was compiled with.
    keras.saving.get_custom_objects().setdefault("t2t_keras>Adam", Adam)
    if keras.config.backend() == "jax":
        from t2t_keras.training.jax_step import TrainingStep
    else:
        from t2t_keras.training.compile_options import CompileOptions as TrainingStep


@functools.cache
def trainable(model_class):
    """Returns a `SequenceModel` class with the training step of the backend.

    Keras saves and loads it under the same name as the plain class.
    """
    name = model_class.__name__
    facts = {"__doc__": model_class.__doc__, "__module__": __name__}
    made = type(name, (TrainingStep, model_class), facts)
    return keras.saving.register_keras_serializable("t2t_keras", name=name)(made)


TrainableTransformer = trainable(Transformer)
