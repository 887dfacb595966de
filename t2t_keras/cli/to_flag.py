"""The flag --to, shared by all commands that translate with a run."""

from absl import flags

TO = flags.DEFINE_string(
    "to",
    None,
    "Tag before each source, such as the target language: de means <2de>. Default: the tag of the "
    "training data, if all of it has the same one.",
)
