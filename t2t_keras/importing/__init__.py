"""Reads other systems' trained models; see README.md."""
