"""Exports of a run, and the choice of the engine that computes its translations."""
