"""Measurements of a GPU: digits, speed, memory, repetition. `t2t-benchmark gpu` prints them."""
