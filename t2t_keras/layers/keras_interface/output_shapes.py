"""Shapes of outputs, for `model.summary()` and for calls on symbolic inputs.

`model.summary()` asks a layer for its output shape without calling it. So every layer of this
package has `compute_output_shape`. But if that method exists, Keras also uses it for the outputs of
symbolic calls, as if a layer always returned one array in its compute dtype. Ours may return
weights as well, or logits in float32. So symbolic outputs are still found by tracing the call.
"""

import inspect

import keras


class OutputShapes:
    """Mixin of layers whose main output has the shape of the first argument.

    Other layers override `output_shape_of`. The Keras mask of that argument is also the output's.
    """

    supports_masking = True

    def compute_output_shape(self, *shapes, **named_shapes):
        """Returns the shape of the main output from the shapes that `build` takes."""
        if not shapes:
            names = inspect.signature(type(self).build).parameters
            shapes = [named_shapes[name] for name in names if name in named_shapes]
        return self.output_shape_of(tuple(shapes[0]))

    def output_shape_of(self, shape):
        """Returns the shape of the main output for the shape of the first argument."""
        return shape

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)
