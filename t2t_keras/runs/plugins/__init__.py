"""Plug-in files of runs: copies, digests and trust."""
