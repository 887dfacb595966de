"""Records of a training: the log, metrics files and TensorBoard."""
