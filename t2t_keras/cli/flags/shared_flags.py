"""Flags of several commands, each defined by a call, and the check for flags without effect."""

import functools

from absl import flags

from t2t_keras.export.formats import CTRANSLATE2_DTYPES, ENGINES


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
def engine_flag():
    return flags.DEFINE_enum(
        "engine",
        "auto",
        ENGINES,
        "What computes. auto: LiteRT on a CPU, if the run has an export for it with these weights "
        "and LiteRT can do what is asked; else TensorFlow. --verbosity=0 says why.",
    )


@functools.cache
def dtype_flag():
    return flags.DEFINE_enum(
        "dtype",
        None,
        tuple(CTRANSLATE2_DTYPES),
        "Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2. "
        "Default: float32 of a run; whatever an export has.",
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
