"""Models that can be trained on Keras' backend.

`trainable` gives a model a training step: on TensorFlow, the step in `replica_step.py`; on JAX,
Keras' step with the loss in `jax_step.py`; on other backends, Keras' step. The package exports
`TrainableTransformer` as `Transformer`.
"""

import functools

import keras

from t2t_keras.transformer import Transformer

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.step.replica_step import TrainingStep
elif keras.config.backend() == "jax":
    from t2t_keras.training.step.jax_step import TrainingStep
else:
    from t2t_keras.training.step.compile_options import CompileOptions as TrainingStep


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
