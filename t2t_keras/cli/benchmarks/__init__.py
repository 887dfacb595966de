"""The subjects of t2t-benchmark: one file each, with its flags and `measure()`."""
