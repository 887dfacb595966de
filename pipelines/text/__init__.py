"""Text before encoding: files, sources of pairs, normalization, cleaning, sentences, trees."""
