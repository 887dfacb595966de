"""The flag `--config` and its overrides, for commands that need the settings of an experiment.

`--config=NAME_OR_FILE[:VARIANT]` names a config and `--config.part.field=value` changes one of its
settings. They are parsed after all other flags, because a config is a file of Python code.
"""

import ast
import dataclasses
import types
from typing import get_args, get_origin, get_type_hints

from absl import flags

from t2t_keras.checks import nearest
from t2t_keras.cli.flags.shared_flags import load_imports, refuse_unused, shared_flag, trust_given
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.config_files import find_config, shipped_configs

CONFIG = flags.DEFINE_string(
    "config",
    None,
    "Name of a shipped config or path of a Python file, followed by :VARIANT if it has variants. "
    f"Shipped are: {', '.join(sorted({*shipped_configs()} - {'settings_of'}))}. "
    "--config.SETTING=VALUE changes one of its settings; t2t-train --show lists them.",
)
IMPORTS = shared_flag("imports")
PARSERS = {
    bool: flags.BooleanParser().parse,
    int: flags.IntegerParser().parse,
    float: flags.FloatParser().parse,
    str: str,
}


# The config that the value of `CONFIG` was loaded from: the arguments --config and
# --config.NAME=VALUE, the shipped config or the path of a file, and {"part.field": value}.
LOADED = types.SimpleNamespace(given=[], name=None, overrides=None)


def config_loader(default=None, shown=None, begin=lambda: None):
    """Returns the `LOAD_CONFIG` of a command that accepts `--config`; see `run` in `main.py`.

    Args:
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

    return load


def load_config(arguments, default=None, imports=()):
    """Loads the config, changes its settings, and makes it the value of `CONFIG`.

    Arguments are overrides and --config=NAME_OR_FILE[:VARIANT]; the last --config is used.
    """
    names = [argument for argument in arguments if argument.startswith("--config=")]
    overrides = [argument for argument in arguments if argument not in names]
    config = names[-1].partition("=")[2] if names else default
    if config is None:
        for argument in overrides:
            flag = argument.partition("=")[0]
            raise ValueError(f"{flag} changes a config: name one with --config=NAME")
        return
    name, _, variant = config.partition(":")
    shipped = {str(path): name for name, path in shipped_configs().items()}
    name = shipped.get(str(find_config(name)), name)
    if variant and name == "settings_of" and "trust" in flags.FLAGS:
        trust_given([variant])
    load_backend(on_jax=True)
    from t2t_keras.experiment import load_experiment

    experiment = load_experiment(config)
    changed = dict(set_field(experiment, argument) for argument in overrides)
    experiment.imports = tuple(dict.fromkeys((*experiment.imports, *imports)))
    flags.FLAGS[CONFIG.name].value = experiment
    LOADED.given, LOADED.name, LOADED.overrides = [*names, *overrides], name, changed


def set_field(experiment, argument):
    """Obeys --config.part.field=VALUE; returns "part.field" and the value."""
    flag, equals, text = argument[2:].partition("=")
    path = flag.split(".")
    settings = experiment
    if path == ["config", "imports"]:
        raise ValueError(f"--{flag} does not load the files. Give --imports=FILE.py[,FILE.py]")
    for index, name in enumerate(path[1:], 1):
        walked, names = ".".join(path[:index]), []
        if dataclasses.is_dataclass(settings):
            names = [field.name for field in dataclasses.fields(settings)]
        if name not in names:
            allowed = f"It has: {', '.join(names)}" if names else f"{walked} is a single setting"
            raise ValueError(f"{walked} has no setting {name!r}{nearest(name, names)}. {allowed}")
        owner, settings = settings, getattr(settings, name)
    if dataclasses.is_dataclass(settings):
        raise ValueError(f"--{flag} is a group of settings: change one of them, {flag}.NAME=VALUE")
    if not equals:
        raise ValueError(f"--{flag} needs a value: --{flag}=VALUE")
    try:
        value = value_of(text, get_type_hints(type(owner))[name])
    except ValueError as error:
        raise ValueError(f"--{flag}={text}: {error}") from error
    setattr(owner, name, value)
    return ".".join(path[1:]), value


def value_of(text, kind):
    """Converts the text of a value to a type, such as `int | None` or `tuple[str, ...]`."""
    if isinstance(kind, types.UnionType):
        if text.lower() == "none":
            return None
        kind = get_args(kind)[0]
    if kind in PARSERS:
        return PARSERS[kind](text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if get_origin(kind) is tuple:
        return tuple(value) if isinstance(value, tuple | list) else (value,)
    return value


def refuse_config(reason, *parts):
    """Rejects --config, --config.NAME=VALUE and --imports where they have no effect.

    Args:
        reason: completes "--config has no effect ", as in `refuse_unused`.
        *parts: beginnings of the only names to reject, for example "data.vocabulary.".
    """
    for argument in LOADED.given:
        flag = argument.partition("=")[0]
        if flag.startswith(tuple(f"--config.{part}" for part in parts) or "--config"):
            raise ValueError(f"{flag} has no effect {reason}: leave it out")
    refuse_unused([] if parts else [IMPORTS], reason)
