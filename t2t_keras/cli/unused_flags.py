"""Rejects flags that would have no effect."""


def refuse_unused(unused, reason):
    """Rejects the first given flag that would have no effect.

    Args:
        unused: flags.
        reason: completes "--beam has no effect ", for example "with --hypotheses".
    """
    for flag in unused:
        if flag.present:
            raise ValueError(f"--{flag.name} has no effect {reason}: leave it out")
