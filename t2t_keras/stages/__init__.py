"""Commands of this package as the stages of a long experiment, each of which runs once."""
