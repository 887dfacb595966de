"""The search flags, shared by all commands that translate with a run: settings of the search."""

from absl import flags

from t2t_keras.cli.flags.field_flags import define_flags
from t2t_keras.decoding.search_config import SearchConfig, settings_in

SAMPLE = flags.DEFINE_bool("sample", False, "Sample tokens at random instead of searching.")
# No choices, because the plug-in files of a run, which may add some, are not loaded yet.
METHOD = flags.DEFINE_string(
    "method",
    None,
    "Search method: beam, sample, or a name that a plug-in file adds to METHODS (--imports, or a "
    "file of the run). Default: the run's method.",
)
# No flags for two fields: the method has its own, and commands with n-best lists define --n_best.
BY_NAME = define_flags(
    SearchConfig,
    leave_out=("method", "n_best"),
    notes=dict.fromkeys(settings_in("sampling"), "Needs --sample."),
    default="the run's",
)

SEARCH_FLAGS = (SAMPLE, METHOD, *BY_NAME.values())


def search_changes():
    """Returns the search settings that the flags change."""
    if SAMPLE.value and METHOD.value not in (None, "sample"):
        raise ValueError(f"--sample contradicts --method={METHOD.value}. Give one of them")
    changes = {name: flag.value for name, flag in BY_NAME.items()}
    changes["method"] = "sample" if SAMPLE.value else METHOD.value
    return {name: value for name, value in changes.items() if value is not None}
