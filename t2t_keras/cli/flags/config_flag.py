"""The flag `--config` and its overrides, for commands that need the settings of an experiment.

`--config=NAME_OR_FILE[:VARIANT]` and `--config.part.field=value` are ml_collections flags. They are
checked before absl parses them: the name of a shipped config is replaced with its path, and a
misspelled field raises an error that suggests the nearest name.
"""

import dataclasses
import sys

from absl import flags
from ml_collections import config_flags

from t2t_keras.checks import nearest
from t2t_keras.cli.flags.shared_flags import (
    imports_flag,
    load_imports,
    refuse_unused,
    trust_given,
)
from t2t_keras.cli.main import run
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.config_files import find_config, shipped_configs

CONFIG = config_flags.DEFINE_config_file(
    "config",
    None,
    "Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants. "
    f"Shipped are: {', '.join(sorted({*shipped_configs()} - {'settings_of'}))}. "
    "--config.SETTING=VALUE changes one of its settings; t2t-train --show lists them.",
    lock_config=False,
)
IMPORTS = imports_flag()


class ExperimentParser(flags.ArgumentParser):
    """Passes on the `Experiment` that `load_config` has loaded, and checks the overrides before."""

    experiment = None
    settings = None  # those of the config, without overrides, as {name: value}

    def parse(self, path):
        from t2t_keras.experiment import load_experiment

        experiment, self.experiment = self.experiment or load_experiment(path), None
        self.settings = experiment.flat()
        return experiment


PARSER = flags.FLAGS[CONFIG.name].parser = ExperimentParser()


def run_with_config(main, default=None, shown=None, begin=lambda: None):
    """Runs `main` as a command that accepts `--config`.

    Args:
        main: function of the positional arguments.
        default: value of `--config` when it is not given, or a function that returns this value.
        shown: the default in --help. None: `default`.
        begin: called before plug-in files and configs are loaded. The other flags are parsed.
    """
    if default:
        flags.FLAGS[CONFIG.name].default_as_str = shown or repr(default)

    def load(arguments):
        begin()
        imports = load_imports(IMPORTS.value)
        load_config(arguments, default() if callable(default) else default, imports)

    run(main, load)


def load_config(arguments, default=None, imports=()):
    """Loads the config, checks the names of overrides, and sets them.

    Args:
        arguments: --config=NAME_OR_FILE[:VARIANT], the last of which counts, and overrides.
        default: the config if none is named.
        imports: paths of further plug-in files.
    """
    names = [argument for argument in arguments if argument.startswith("--config=")]
    overridden = [argument for argument in arguments if argument not in names]
    config = names[-1].partition("=")[2] if names else default
    if config is None:
        for argument in overridden:
            flag = argument.partition("=")[0]
            raise ValueError(f"{flag} changes a config: name one with --config=NAME")
        return
    path, experiment = loaded(config)
    for argument in overridden:
        check_field(experiment, argument)
    experiment.imports = tuple(dict.fromkeys((*experiment.imports, *imports)))
    PARSER.experiment = experiment
    # ml_collections reads the overrides from sys.argv, not from the list passed to absl.
    before, sys.argv = sys.argv, [sys.argv[0], f"--config={path}", *overridden]
    try:
        flags.FLAGS(sys.argv)
    finally:
        sys.argv = before


def loaded(config):
    """Returns PATH[:VARIANT] and the `Experiment` of a config."""
    name, colon, variant = config.partition(":")
    path = find_config(name)
    if colon and path == shipped_configs()["settings_of"] and "trust" in flags.FLAGS:
        trust_given([variant])
    load_backend(on_jax=True)
    from t2t_keras.experiment import load_experiment

    return f"{path}{colon}{variant}", load_experiment(config)


def check_field(experiment, flag):
    """Raises `ValueError` unless the experiment has the setting of --config.part.field=VALUE."""
    flag, equals, _ = flag[2:].partition("=")
    _, *path = flag.split(".")
    settings, walked = experiment, "config"
    if path == ["imports"]:
        raise ValueError(f"--{flag} does not load the files. Give --imports=FILE.py[,FILE.py]")
    for name in path:
        names = []
        if dataclasses.is_dataclass(settings):
            names = [field.name for field in dataclasses.fields(settings)]
        if name not in names:
            allowed = f"It has: {', '.join(names)}" if names else f"{walked} is a single setting"
            raise ValueError(f"{walked} has no setting {name!r}{nearest(name, names)}. {allowed}")
        settings, walked = getattr(settings, name), f"{walked}.{name}"
    if dataclasses.is_dataclass(settings):
        raise ValueError(f"--{flag} is a group of settings: change one of them, {flag}.NAME=VALUE")
    if not equals:
        raise ValueError(f"--{flag} needs a value: --{flag}=VALUE")


def config_is(name):
    """Returns whether the settings come from the shipped config `name`, or a variant of it."""
    path, _, _ = flags.FLAGS[CONFIG.name].config_filename.partition(":")
    return path == str(find_config(name))


def loaded_config():
    """Returns the settings of --config, without overrides, as {name: value}, and its name in words.

    The name is "config NAME:VARIANT" or, for the recorded settings of a run, "run FOLDER".
    """
    config = flags.FLAGS[CONFIG.name].config_filename
    path, colon, variant = config.partition(":")
    names = {str(path): name for name, path in shipped_configs().items()}
    name = f"config {names.get(path, path)}{colon}{variant}"
    if config_is("settings_of"):
        name = f"run {variant}"
    return PARSER.settings, name


def variant():
    """Returns the VARIANT of --config, or ""."""
    return flags.FLAGS[CONFIG.name].config_filename.partition(":")[2]


def overrides():
    """Returns {"part.field": value} of the given --config.part.field=value."""
    return config_flags.get_override_values(flags.FLAGS[CONFIG.name])


def refuse_config(default, reason):
    """Rejects --config and --config.NAME=VALUE where they have no effect.

    Args:
        default: the config if --config is not given.
        reason: completes "--config has no effect ", as in `refuse_unused`.
    """
    if not config_is(default):
        raise ValueError(f"--config has no effect {reason}: leave it out")
    refuse_unused([IMPORTS], reason)
    refuse_overrides("", reason)


def refuse_overrides(part, reason):
    """Rejects the first --config.NAME=VALUE whose name begins with `part`.

    Args:
        part: for example "data.vocabulary.".
        reason: why the setting has no effect, as in `refuse_unused`.
    """
    if CONFIG.value is None:
        return
    for name in overrides():
        if name.startswith(part):
            raise ValueError(f"--config.{name} has no effect {reason}: leave it out")
