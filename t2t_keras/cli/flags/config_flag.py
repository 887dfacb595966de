"""The flag `--config` and its overrides, for commands that need the settings of an experiment.

`--config=NAME_OR_FILE[:VARIANT]` and `--config.part.field=value` are ml_collections flags. They are
checked before absl parses them: the name of a shipped config is replaced with its path, and a
misspelled field raises an error that suggests the nearest name.
"""

import dataclasses

from absl import flags
from ml_collections import config_flags

from t2t_keras.checks import nearest
from t2t_keras.cli.flags.shared_flags import (
    imports_flag,
    load_imports,
    refuse_unused,
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
    """Loads a config as all other code does, with its plug-in files and those of --imports."""

    # The values of --imports and --trust, which absl has not parsed when it parses --config.
    imports, trust = (), False

    def parse(self, path):
        from t2t_keras.experiment import load_experiment

        experiment = load_experiment(path)
        experiment.imports = tuple(dict.fromkeys((*experiment.imports, *self.imports)))
        return experiment


PARSER = flags.FLAGS[CONFIG.name].parser = ExperimentParser()


def run_with_config(main, default=None, shown=None, begin=lambda known: None):
    """Runs `main` as a command that accepts `--config`.

    Args:
        main: function of the positional arguments.
        default: value of `--config` when it is not given, or a function that returns this value for
            the values of the other flags.
        shown: the default in --help. None: `default`.
        begin: called with the values of the other flags before plug-in files and configs are
            loaded.
    """
    if default:
        flags.FLAGS[CONFIG.name].default_as_str = shown or repr(default)

    def resolve(arguments, known):
        begin(known)
        PARSER.trust = "trust" in known and known["trust"].value
        PARSER.imports = load_imports(known[IMPORTS.name].value)
        return resolve_config(arguments, default(known) if callable(default) else default)

    run(main, resolve)


def resolve_config(arguments, default=None):
    """Replaces the config's name with its path, puts `--config` first and checks the overrides."""
    if "--" in arguments:
        end = arguments.index("--")
        return resolve_config(arguments[:end], default) + arguments[end:]
    if default and not any(
        argument.partition("=")[0] in ("--config", "-config") for argument in arguments
    ):
        arguments = [f"--config={default}", *arguments]
    resolved, experiment, overridden = [], None, []
    arguments = iter(arguments)
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if flag.lstrip("-") == "config":
            value = value if equals else next(arguments, "")
            path, variant, experiment = loaded(value)
            resolved.insert(0, f"--config={path}{variant}")
            continue
        if flag.startswith(("--config.", "-config.")):
            overridden.append(flag.lstrip("-"))
        resolved.append(argument)
    for flag in overridden:
        if experiment is None:
            raise ValueError(f"--{flag} changes a config: name one with --config=NAME")
        check_field(experiment, flag)
    return resolved


def loaded(config):
    """Returns the path, the ":VARIANT" (or "") and the `Experiment` of a config."""
    name, colon, variant = config.partition(":")
    path = find_config(name)
    if PARSER.trust and colon and path == shipped_configs()["settings_of"]:
        from t2t_keras.runs.plugins.plugin_files import trust_plugins_of

        trust_plugins_of(variant)
    load_backend(on_jax=True)
    from t2t_keras.experiment import load_experiment

    return path, f"{colon}{variant}", load_experiment(config)


def check_field(experiment, flag):
    """Raises `ValueError` unless the experiment has the setting `config.part.field`."""
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


def config_is(name):
    """Returns whether the settings come from the shipped config `name`, or a variant of it."""
    path, _, _ = flags.FLAGS[CONFIG.name].config_filename.partition(":")
    return path == str(find_config(name))


def loaded_config():
    """Returns the settings of --config, without overrides, as {name: value}, and its name in words.

    The name is "config NAME:VARIANT" or, for the recorded settings of a run, "run FOLDER".
    """
    from t2t_keras.experiment import load_experiment

    config = flags.FLAGS[CONFIG.name].config_filename
    path, colon, variant = config.partition(":")
    names = {str(path): name for name, path in shipped_configs().items()}
    name = f"config {names.get(path, path)}{colon}{variant}"
    if config_is("settings_of"):
        name = f"run {variant}"
    return load_experiment(config).flat(), name


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
