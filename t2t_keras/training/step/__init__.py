"""The training step: loss, gradients and update, on TensorFlow and on JAX."""
