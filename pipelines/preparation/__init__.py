"""The work of t2t-prepare: clean a corpus, learn its vocabulary, encode it, report."""
