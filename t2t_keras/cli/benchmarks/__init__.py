"""The subjects of t2t-benchmark, one file each, with flags and `measure()`."""
