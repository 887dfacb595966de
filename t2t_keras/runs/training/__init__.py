"""Trains a run, from the empty folder to the averaged weights."""
