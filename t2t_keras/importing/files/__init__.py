"""Readers for the files in which other systems store weights and vocabularies."""
