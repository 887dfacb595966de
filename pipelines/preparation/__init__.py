"""The steps of t2t-prepare: clean a corpus, learn its vocabulary, encode it, and write a report."""
