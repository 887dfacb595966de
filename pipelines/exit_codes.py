"""Exit codes of commands, by which a command that runs others tells their errors apart."""

REFUSED = 2  # the input or a setting is wrong
DIVERGED = 3  # a loss or a weight of a training became infinite or NaN
NOT_CONVERTIBLE = 4  # LiteRT has no program for the model
NO_SPACE = 5  # the disk is full
