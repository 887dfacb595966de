"""What every command shares: `--config` with overrides, and how mistakes are reported.

`--config=NAME_OR_FILE[:VARIANT]` and `--config.part.field=value` are ml_collections flags.
They are looked through before absl parses them, because a shipped config's name has to become
a path, and a misspelt field should be answered with the nearest one and not a traceback.
"""

import dataclasses
import functools
import os
import signal
import sys
from pathlib import Path

from absl import app, flags
from ml_collections import config_flags

from t2t_keras.checks import nearest
from t2t_keras.experiment import find_config, load_experiment

CONFIG = config_flags.DEFINE_config_file(
    "config",
    None,
    "What to run: a shipped config or a Python file, with :VARIANT where it has variants. "
    "Any setting can be changed with --config.SETTING=VALUE.",
    lock_config=False,
)


def run(main, default_config=None):
    """Runs `main` as a command: a user's mistake ends with one message and exit code 2.

    Args:
        main: takes the positional arguments.
        default_config: what `--config` is when it is not given.
    """
    command = Path(sys.argv[0]).name
    # What --help shows is what `main`'s file says, and the flags of all files that it imports.
    sys.modules["__main__"].__doc__ = sys.modules[main.__module__].__doc__
    for module, defined in flags.FLAGS.flags_by_module_dict().items():
        if module.startswith("t2t_keras."):
            for flag in defined:
                flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)

    def guarded(argv):
        signal.signal(signal.SIGINT, functools.partial(interrupted, command))
        try:
            main(argv[1:])
            sys.stdout.flush()  # here, where it is known what to do if nobody reads it
        except ValueError as error:
            fail(command, error)
        except BrokenPipeError:
            # Whoever read our output has enough, for example `head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:  # no such folder, no permission, no space left
            fail(command, error)

    def parse(argv):
        try:
            # ml_collections looks for overrides in sys.argv, whatever it is given.
            sys.argv = [argv[0], *resolve_config(argv[1:], default_config)]
            return flags.FLAGS(sys.argv)
        except (flags.Error, ValueError) as error:
            fail(command, error)

    app.run(guarded, flags_parser=parse)


def interrupted(command, *_):
    """Ends the process at once, which every command survives.

    Not by KeyboardInterrupt: raised inside a callback of somebody else's, it would be swallowed.
    """
    print(f"\n{command}: interrupted. The same command goes on from here", file=sys.stderr)
    sys.stderr.flush()
    os._exit(130)  # as a shell reports it


def fail(command, error):
    print(f"{command}: {error}", file=sys.stderr)
    sys.exit(2)


def resolve_config(arguments, default=None):
    """Turns the name in `--config` into a path, puts it first and checks what is overridden."""
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
            experiment = load_experiment(value)
            name, colon, variant = value.partition(":")
            resolved.insert(0, f"--config={find_config(name)}{colon}{variant}")
            continue
        if flag.startswith(("--config.", "-config.")):
            overridden.append(flag.lstrip("-"))
        resolved.append(argument)
    for flag in overridden:
        if experiment is None:
            raise ValueError(f"--{flag} changes a config: name one with --config=NAME as well")
        check_field(experiment, flag)
    return resolved


def check_field(experiment, flag):
    """Refuses `config.part.field` unless the experiment has such a setting."""
    _, *path = flag.split(".")
    settings, walked = experiment, "config"
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
