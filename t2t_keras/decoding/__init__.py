"""Search: source ids in, hypotheses out. Uses only Keras, so it runs on any backend."""
