"""The page to try the models, and its scripts."""
