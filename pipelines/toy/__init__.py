"""A toy corpus of English and German with word alignments, unlimited and seeded."""
