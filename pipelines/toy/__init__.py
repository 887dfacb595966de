"""A toy corpus of English and German with word alignments, of unlimited size and seeded."""
