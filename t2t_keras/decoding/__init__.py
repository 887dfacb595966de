"""Search: source ids in, hypotheses out. Written on Keras alone, for any backend."""
