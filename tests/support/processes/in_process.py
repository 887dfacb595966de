"""Commands in the process of the test, where a run's models and graphs are kept for later calls."""

import contextlib
import functools
import importlib
import io
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from unittest import mock

from absl import app, flags, logging

from t2t_keras.runs import run

kept_run = functools.cache(run.Run)


def call(name, *arguments, stdin=""):
    """Calls `main` of t2t-NAME, without the conversion of errors to messages and exit codes."""
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    contents = {"stdin": data, "stdout": b"", "stderr": b""}
    streams = {
        stream: io.TextIOWrapper(io.BytesIO(content), "utf-8", write_through=True)
        for stream, content in contents.items()
    }
    with contextlib.ExitStack() as patches:
        module = patches.enter_context(parsed_flags(name, *arguments))
        positional = [str(each) for each in arguments if not str(each).startswith("--")]
        for stream, file in streams.items():
            patches.enter_context(mock.patch.object(sys, stream, file))
        patches.enter_context(mock.patch.object(run, "Run", kept_run))
        module.main(positional)
    outputs = (streams[stream].buffer.getvalue().decode() for stream in ("stdout", "stderr"))
    return types.SimpleNamespace(**dict(zip(("stdout", "stderr"), outputs, strict=True)))


@contextlib.contextmanager
def parsed_flags(name, *arguments):
    """Imports the module of t2t-NAME, parses its flags and yields the module.

    Commands define flags of the same name. So each is imported without the others, and removed at
    the end.
    """
    remove_commands()
    try:
        backend = importlib.import_module("t2t_keras.cli.process.backend")
        backend.load_backend = lambda **_: None  # the test has loaded it
        module = importlib.import_module(f"t2t_keras.cli.{name}")
        flags.FLAGS([name, *map(str, arguments)])
        importlib.import_module("t2t_keras.cli.flags.shared_flags").check_declared()
        yield module
    finally:
        remove_commands()


def remove_commands():
    """Removes the modules of all commands and their flags, such as --config.part.field."""
    for module, defined in flags.FLAGS.flags_by_module_dict().items():
        for flag in list(defined):
            ours = module.startswith("t2t_keras.cli.") or flag.name.startswith("config.")
            if ours and flag.name in flags.FLAGS:
                delattr(flags.FLAGS, flag.name)
    for module in list(sys.modules):
        if module.startswith("t2t_keras.cli."):
            del sys.modules[module]


def ended(name, *arguments, stdin=""):
    """Runs t2t-NAME to its end in this process: flags, config, `main`, message and exit code.

    For commands that end with an error, or early: they are to change nothing that later tests use.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    argv = [f"{name}.py", *map(str, arguments)]
    streams = {}
    with contextlib.ExitStack() as patches, tempfile.TemporaryDirectory() as folder:
        patches.enter_context(parsed_flags(name))
        for stream, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
            path = Path(folder) / stream
            path.write_text(stdin, encoding="utf-8")
            file = patches.enter_context(open(path, mode, encoding="utf-8"))
            patches.enter_context(mock.patch.object(sys, stream, file))
        patches.enter_context(mock.patch.object(sys, "argv", argv))
        patches.enter_context(mock.patch.dict(os.environ))
        patches.enter_context(logging_kept())
        patches.enter_context(absl_help())
        code = 0
        try:
            importlib.import_module("t2t_keras.cli.main").entry()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        for stream in ("stdout", "stderr"):
            getattr(sys, stream).flush()
            streams[stream] = (Path(folder) / stream).read_text(encoding="utf-8")
    return subprocess.CompletedProcess(argv, code, streams["stdout"], streams["stderr"])


def refused(name, line, *places, stdin=""):
    """Runs t2t-NAME, which must end with exit code 2, one message and no output."""
    result = ended(name, *(word.format(*places) for word in shlex.split(line)), stdin=stdin)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.splitlines()[-1]


@contextlib.contextmanager
def absl_help():
    """Defines absl's flags for help, which a command replaces, and removes all of them again."""
    app._define_help_flags_called = False
    app.define_help_flags()
    flags.FLAGS.unparse_flags()
    try:
        yield
    finally:
        for name in ("help", "?", "h", "helpshort", "helpfull", "helpxml", "only_check_flags"):
            if name in flags.FLAGS:
                delattr(flags.FLAGS, name)


@contextlib.contextmanager
def logging_kept():
    """Restores the stream, the format and the level of absl's messages."""
    handler, level = logging.get_absl_handler(), logging.get_verbosity()
    before = handler.python_handler.stream, handler.python_handler.formatter
    try:
        yield
    finally:
        handler.python_handler.setStream(before[0])
        handler.setFormatter(before[1])
        logging.set_verbosity(level)
