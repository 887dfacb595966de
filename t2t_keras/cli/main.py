"""The code that all commands share: flags, error reports, exit codes.

A command's module has no heavy imports at its top. Its `main` checks the arguments, calls
`load_backend`, and then imports the part of the package that does the work.
"""

import contextlib
import importlib
import logging as python_logging
import os
import re
import shlex
import signal
import sys
from pathlib import Path

from absl import app, flags, logging

from pipelines.atomic_files import FULL_DISK
from pipelines.exit_codes import NO_SPACE, REFUSED
from pipelines.printable import printable
from t2t_keras.cli.flags.shared_flags import check_declared
from t2t_keras.cli.help_text import define_answers
from t2t_keras.cli.process import streams
from t2t_keras.cli.process.resources import memory_advice, message_of

LESS_MEMORY = "Free some, use a larger machine, or lower --beam where the search needs it"
# {our flag: flags of OpenNMT, Marian, fairseq and sacreBLEU for the same purpose}
COUNTERPARTS = {
    "beam": "beam_size b num_beams",
    "source": "src i train_src",
    "input": "src i",
    "target": "tgt trg train_tgt",
    "output": "o",
    "alpha": "length_penalty lenpen normalize",
    "n_best": "nbest",
    "metrics": "m metric",
    "lowercase": "lc",
    "tokenize": "tok",
    "reference": "ref refs",
    "run": "save_model save_dir model",
    "vocabulary": "vocab",
    "dev_source": "valid_src",
    "dev_target": "valid_tgt",
}
MODULES = {"import": "import_model"}  # {command: its module, if the name is different}
RESUMES = False  # whether the same command would resume this one


def entry():
    """Runs the command that the program is named after, such as t2t-train."""
    name = Path(sys.argv[0]).stem.removeprefix("t2t-")
    module = importlib.import_module(f"t2t_keras.cli.{MODULES.get(name, name)}")
    run(module.main, getattr(module, "LOAD_CONFIG", lambda arguments: None))


def run(main, load_config):
    """Runs `main` as a command. A user error ends it with one message and an exit code.

    Args:
        main: function of the positional arguments.
        load_config: function of the arguments of --config, called after all other flags are parsed.
    """
    streams.begin()
    show_messages()
    logging.get_absl_handler().python_handler.setStream(sys.stderr)

    def guarded(argv):
        with errors_reported(), closed_pipe_allowed(), memory_advice(LESS_MEMORY):
            main(argv[1:])
            sys.stdout.flush()

    def parse(argv):
        signal.signal(signal.SIGINT, interrupted)
        define_answers(sys.modules[main.__module__].__doc__)
        with errors_reported():
            sys.argv = [argv[0], *flags.FLAGS.read_flags_from_files(argv[1:])]
            others, config = without_config(sys.argv)
            arguments = parsed(others)
            check_declared()
            load_config(config)
        # A value that was set explicitly: absl would raise its default, WARNING, to INFO.
        flags.FLAGS.verbosity = flags.FLAGS.verbosity
        return arguments

    app.run(guarded, flags_parser=parse)


@contextlib.contextmanager
def errors_reported():
    """Returns a context in which a user error ends the command with one message."""
    command, code = Path(sys.argv[0]).name, REFUSED
    try:
        yield
    except KeyboardInterrupt:  # of a command that first waits for its stage
        interrupted()
    except flags.UnrecognizedFlagError as error:
        message = f"{unknown_flag(error)} See {command} --help"
    except (flags.Error, ValueError) as error:
        words = r"\('Non-boolean argument to boolean flag', .*\)"
        message = re.sub(words, "must be true or false", str(error))
        code = getattr(error, "exit_code", REFUSED)
    except OSError as error:  # no such folder, no permission, no space left
        message = message_of(error)
        code = NO_SPACE if error.errno in FULL_DISK else REFUSED
    except ModuleNotFoundError as error:
        message = missing_package(error)
    else:
        return
    print(printable(f"{command}: {message}"), file=sys.stderr)
    sys.exit(code)


def missing_package(error):
    name = error.name.partition(".")[0]
    source = {"apache_beam": "'t2t-keras[beam]'", "jax": "jax"}.get(name, "'t2t-keras[train]'")
    return f"needs the package {name}, which pip install {source} installs"


def unknown_flag(error):
    """Returns the message about an unknown flag, with the name that it has here."""
    for name, others in COUNTERPARTS.items():
        if name in flags.FLAGS and error.flagname in others.split():
            return f"Unknown command line flag {error.flagname!r}. Did you mean: {name}?"
    message = str(error).replace(" ?", "?")
    return message if message[-1] == "?" else f"{message}."


def without_config(argv):
    """Returns the arguments other than --config and --config.NAME=VALUE, and these."""
    others, config, arguments = [argv[0]], [], iter(argv[1:])
    for argument in arguments:
        if argument == "--":
            others += [argument, *arguments]
        elif argument in ("--config", "-config"):
            config.append(f"--config={next(arguments, '')}")
        elif argument.startswith(("--config=", "-config=", "--config.", "-config.")):
            config.append(f"--{argument.lstrip('-')}")
        else:
            others.append(argument)
    return others, config


def parsed(argv):
    """Parses flags and returns the other arguments. --help and --version end the command."""
    try:
        return flags.FLAGS(argv)
    except (SystemExit, BrokenPipeError):  # of an `Answer`
        with closed_pipe_allowed():
            sys.stdout.flush()
        sys.exit(0)


@contextlib.contextmanager
def closed_pipe_allowed():
    """Returns a context that the reader of standard output may end early, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_info(form):
    """Shows log messages of level INFO and above, or of lower levels if --verbosity is higher.

    `form` is the format of a line, as in the module `logging`.
    """
    logging.set_verbosity(max(logging.INFO, logging.get_verbosity()))
    show_messages(form)


def show_messages(form="%(message)s"):
    """Shows log messages in a format, without their date and origin."""
    logging.get_absl_handler().setFormatter(Formatter(form, "%Y-%m-%d %H:%M:%S"))


class Formatter(python_logging.Formatter):
    """Adds the level to warnings and errors, and keeps each message on one line."""

    def formatMessage(self, record):
        line = printable(super().formatMessage(record))
        return f"{record.levelname}: {line}" if record.levelno > python_logging.INFO else line


def positional(arguments, count=1, takes="one run's folder"):
    """Returns the positional arguments; there must be `count`, and `takes` describes them."""
    if len(arguments) != count:
        raise ValueError(f"takes {takes}. Received: {' '.join(arguments) or 'none'}")
    return arguments


def command_line():
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def will_resume():
    """Makes the message on Ctrl-C promise, from now on, that the same command resumes."""
    global RESUMES
    RESUMES = True


def interrupted(*_):
    streams.interrupted(". Run the same command to resume" if RESUMES else "")
