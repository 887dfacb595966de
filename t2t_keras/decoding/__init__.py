"""From a trained model to hypotheses. Written on Keras alone."""
