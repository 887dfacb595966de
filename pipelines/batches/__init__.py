"""Encoded corpora on disk, and the batches of each training step."""
