"""A trained model for whoever has not this package."""
