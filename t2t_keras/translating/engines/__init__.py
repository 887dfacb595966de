"""Engines: ids in, hypotheses out."""
