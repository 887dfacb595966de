"""What a GPU must show: digits, speed, memory, repetition. `t2t-benchmark gpu` prints it."""
