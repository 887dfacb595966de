"""Engines, which take ids and return hypotheses."""
