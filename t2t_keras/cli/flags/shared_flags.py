"""Flags of several commands, flags with several values, and the check for flags without effect."""

import functools
import sys

from absl import flags

from t2t_keras.cli.process.backend import choose_backend, load_backend, set_log_level
from t2t_keras.export.formats import CTRANSLATE2_DTYPES, ENGINES
from t2t_keras.plugins import absolute, load_plugins
from t2t_keras.quiet_loading import quiet_loading

DECLARED = []  # (flags, function that returns whether they have no effect, reason)


class ListFlag(flags.Flag):
    """A flag whose values add up: `--imports=a.py --imports=b.py` is `--imports=a.py,b.py`.

    With `flags.DEFINE_list`, the last of them would replace the others without a word.
    """

    def parse(self, argument):
        earlier = self.value if self.present else []
        super().parse(argument)
        self.value = [*earlier, *self.value]


def define_list(name, default, help_text, parser=None):
    """Defines a `ListFlag`. Its arguments are those of `flags.DEFINE_list`, and the parser."""
    parser = parser or flags.ListParser()
    serializer = flags.CsvListSerializer(",")
    return flags.DEFINE_flag(ListFlag(parser, serializer, name, default, help_text))


def named_files(flag):
    """Returns {name: file} of a `ListFlag` whose values are NAME=FILE."""
    files = dict(each.partition("=")[::2] for each in flag.value)
    if not all(files.values()) or len(files) < len(flag.value):
        raise ValueError(
            f"--{flag.name} must be NAME=FILE, with each name once, such as "
            f"--{flag.name}=weights=train.txt. Received: --{flag.name}={','.join(flag.value)}"
        )
    return files


# {name: (function that defines the flag, its further arguments)}
SHARED = {
    "to": (
        *(flags.DEFINE_string, None),
        "Tag before each source, such as the target language: de means <2de>. Default: the tag of "
        "the training data, if all of it has the same one.",
    ),
    "weights": (
        *(flags.DEFINE_string, None),
        "Weights to use: averaged, best, newest, or the step of a checkpoint. Default: those that "
        "were chosen when training ended, usually averaged; before that, newest.",
    ),
    "engine": (
        *(flags.DEFINE_enum, "auto", ENGINES),
        "What computes. auto: LiteRT on a CPU, if the run has an export for it with these weights "
        "and LiteRT supports the request; else TensorFlow, and standard error says why.",
    ),
    "dtype": (
        *(flags.DEFINE_enum, None, tuple(CTRANSLATE2_DTYPES)),
        "Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2. "
        "Default: float32 for a run, the stored type for an export.",
    ),
    "draft": (
        *(flags.DEFINE_string, None),
        "Run or export of a small model with the same vocabulary. It proposes tokens to greedy "
        "search, --beam=1. This can make translating up to 4 lines at a time faster. Translations "
        "stay the same, except for rounding in int8.",
    ),
    "export": (
        *(flags.DEFINE_bool, True),
        "Export the new weights for LiteRT, which translates on CPUs, and in the other formats in "
        "which the run's folder has exports. With --noexport, those keep the earlier weights.",
    ),
    "imports": (
        *(define_list, []),
        "Comma-separated Python files that add entries to the tables of this package, such as "
        "models, search methods or metrics, in addition to the files of --config or the run. "
        "Default: none.",
    ),
    "trust": (
        *(flags.DEFINE_bool, False),
        "Execute the plug-in files of the given runs, which are Python code. Without it, only "
        "files that --imports or --config names are executed.",
    ),
}


@functools.cache
def shared_flag(name):
    define, *arguments = SHARED[name]
    return define(name, *arguments)


def shared_flags(*names):
    """Returns flags of `SHARED`, which are defined when the first file of a command needs them."""
    return map(shared_flag, names)


def load_imports(paths):
    """Loads the plug-in files of --imports, and returns their absolute paths.

    Prepares the backend if one of them imports it.
    """
    if paths:
        set_log_level()
        choose_backend(on_jax=True)
        with quiet_loading((ValueError,)):
            load_plugins(paths)
        if "keras" in sys.modules:
            load_backend(on_jax=True)
    return [absolute(path) for path in paths]


def trust_given(folders):
    """Obeys --trust for the folders of runs; None is no folder."""
    from t2t_keras.runs.plugins.plugin_files import trust_plugins_of

    for folder in folders if shared_flag("trust").value else ():
        if folder is not None:
            trust_plugins_of(folder)


def opened_run(folder):
    """Returns the `Run` in a folder, after obeying --trust, --imports and --to."""
    given = {name: flags.FLAGS[name].value for name in ("to", "imports") if name in flags.FLAGS}
    trust_given([folder])
    load_backend()
    load_imports(given.get("imports", ()))
    from t2t_keras.runs import Run

    run = Run(folder, given.get("to"))
    run.experiment()  # raises a clear error if the folder is not a run
    return run


def only_with(modes, *declared):
    """Declares flags that have no effect unless one of the flags `modes` is given."""
    reason = " or ".join(f"--{mode.name}" for mode in modes)
    DECLARED.append((declared, lambda: not any(m.value for m in modes), f"without {reason}"))


def not_with(mode, *declared, why=""):
    """Declares flags that have no effect with the flag `mode`; `why` ends the message."""
    DECLARED.append((declared, lambda: mode.value, f"with --{mode.name}{why}"))


def check_declared():
    """Rejects given flags that have no effect, as `only_with` and `not_with` declare."""
    for declared, applies, reason in DECLARED:
        if applies():
            refuse_unused(declared, reason)


def refuse_unused(unused, reason):
    """Rejects the first given flag that would have no effect.

    The reason completes "--beam has no effect ", for example "with --hypotheses".
    """
    for flag in unused:
        if flag.present:
            raise ValueError(f"--{flag.name} has no effect {reason}: leave it out")
