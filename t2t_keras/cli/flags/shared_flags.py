"""Flags of several commands, each defined by a call, and the check for flags without effect."""

import functools

from absl import flags


@functools.cache
def to_flag():
    return flags.DEFINE_string(
        "to",
        None,
        "Tag before each source, such as the target language: de means <2de>. Default: the tag of "
        "the training data, if all of it has the same one.",
    )


@functools.cache
def weights_flag():
    return flags.DEFINE_string(
        "weights",
        None,
        "Weights to use: averaged, best, newest, or the step of a checkpoint. Default: those that "
        "were chosen when training ended, usually averaged; before that, newest.",
    )


@functools.cache
def export_flag():
    return flags.DEFINE_bool(
        "export", True, "Write a model for LiteRT of the new weights, which translates on CPUs."
    )


def refuse_unused(unused, reason):
    """Rejects the first given flag that would have no effect.

    Args:
        unused: flags.
        reason: completes "--beam has no effect ", for example "with --hypotheses".
    """
    for flag in unused:
        if flag.present:
            raise ValueError(f"--{flag.name} has no effect {reason}: leave it out")
