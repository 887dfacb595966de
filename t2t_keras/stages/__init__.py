"""Commands of this package as stages of a long experiment. Each stage runs once."""
