"""The report of a run: one page with settings, learning curves and translations."""
