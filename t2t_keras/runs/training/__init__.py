"""Training of a run, from its empty folder to its averaged weights."""
