"""What t2t-benchmark measures, one file a subject, each with its flags and a `measure()`."""
