"""Training on TensorFlow: the training step, the trainer, checkpoints."""
