"""Plots and pages of attention and training, from arrays and words."""
