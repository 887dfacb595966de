"""A seeded toy corpus of English and German, of unlimited size, with word alignments."""
