"""Reads the trained models of other systems; see README.md."""
