"""Commands in the process of the test, where a run's models and graphs are kept for later calls."""

import contextlib
import functools
import importlib
import io
import sys
import types
from unittest import mock

from absl import flags

from t2t_keras import runs
from t2t_keras.translating import find
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.export_folders import find_export

load_runs = runs.load_runs
load_export = find.load_engine


@functools.cache
def kept_runs(*folders, to):
    return load_runs(list(folders), to)


def kept_export(folder, *options):
    """Does what `load_engine` does, with the graphs of earlier calls.

    XLA compiles none, because it rounds scores differently.
    """
    return (
        load_export(folder, *options)
        if find_export(folder) is None
        else kept_engine(find_export(folder))
    )


@functools.cache
def kept_engine(folder):
    return SavedModelEngine(folder, compile_shapes=False)


def call(name, *arguments, stdin=""):
    """Calls `main` of t2t-NAME, without the conversion of errors to messages and exit codes.

    Args:
        name: name of the command.
        *arguments: flags, then positional arguments.
        stdin: text or bytes.

    Returns:
        A namespace with `stdout` and `stderr`.
    """
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
        kept = mock.patch.object(
            runs, "load_runs", lambda folders, to=None: kept_runs(*folders, to=to)
        )
        patches.enter_context(kept)
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
        yield module
    finally:
        remove_commands()


def remove_commands():
    """Removes the modules of all commands and their flags, such as --config.part.field."""
    for module, defined in flags.FLAGS.flags_by_module_dict().items():
        for flag in list(defined):
            if module.startswith("t2t_keras.cli.") or flag.name.startswith("config."):
                delattr(flags.FLAGS, flag.name)
    for module in list(sys.modules):
        if module.startswith("t2t_keras.cli."):
            del sys.modules[module]
