"""Texts as users have them: files, sources of pairs, normalization, cleaning, sentences, trees."""
