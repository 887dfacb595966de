"""Compares runs: settings that differ, scores over seeds, training cost, learning curves."""
