import json
import re
import subprocess
import sys
import textwrap

import pytest
from commands import ROOT

from t2t_keras.cli.backend import may_use_jax

COMMANDS = sorted(
    path.stem
    for path in (ROOT / "t2t_keras" / "cli").glob("*.py")
    if "def entry():" in path.read_text(encoding="utf-8")
)


def run_code(code, *arguments):
    """Runs code in a new process that counts as a command, and returns its result."""
    as_command = "import os, sys\nsys.orig_argv[1:] = ['-m', 't2t_keras.cli.train']\n"
    code = as_command + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
    )


def run_block(block, start=""):
    """Runs a block within `standard_error_held`, between two writes to standard error."""
    return run_code(
        f"""
        import signal
        from t2t_keras.cli.backend import standard_error_held
        from t2t_keras.cli import main
        {start}
        os.write(2, b"before, ")
        with standard_error_held():
            os.write(2, b"held, ")
            print("also held, ", end="", file=sys.stderr)
            {block}
        print("after", file=sys.stderr)
        """
    )


def test_messages_of_libraries_are_dropped_if_loading_succeeds():
    result = run_block("pass")
    assert (result.returncode, result.stderr) == (0, "before, after\n")


def test_messages_of_libraries_are_shown_if_loading_raises_an_error():
    result = run_block("raise ImportError('no such library')")
    assert result.returncode == 1
    assert result.stderr.startswith("before, held, also held, Traceback")
    assert result.stderr.endswith("ImportError: no such library\n")


def test_messages_of_libraries_are_shown_if_the_process_dies():
    result = run_block("sys.stderr.flush(); os.abort()")
    assert result.returncode == -6
    assert result.stderr == "before, held, also held, "


@pytest.mark.parametrize(
    ("start", "promise"),
    [("", ""), ("main.will_resume()", ". Run the same command to resume")],
)
def test_on_ctrl_c_a_command_shows_only_its_own_message(start, promise):
    start += "; signal.signal(signal.SIGINT, lambda *_: main.interrupted('t2t-train'))"
    result = run_block("signal.raise_signal(signal.SIGINT)", start.lstrip("; "))
    assert result.returncode == 130
    assert result.stderr == f"before, \nt2t-train: interrupted{promise}\n"


def test_on_ctrl_c_without_a_handler_they_are_dropped_too():
    # A process in the background may inherit a SIGINT that is ignored.
    start = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    result = run_block("signal.raise_signal(signal.SIGINT)", start)
    assert result.stderr.startswith("before, Traceback")
    assert result.stderr.endswith("\nKeyboardInterrupt\n")


@pytest.mark.long
def test_a_command_prints_nothing_of_its_libraries():
    command = [sys.executable, "-m", "t2t_keras.cli.parameters", "--config=multi30k"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "all  " in result.stdout


# Loads a module named "keras" that only prints a line.
LOAD = """
from absl import flags, logging
from t2t_keras.cli.backend import load_backend
flags.FLAGS(["t2t-train", *sys.argv[1:]])
sys.path.insert(0, "FOLDER")
load_backend()
"""


def test_messages_of_libraries_are_shown_with_verbosity_1_only(tmp_path):
    printing = 'import os\nos.write(2, b"chatter")\nfrom types import SimpleNamespace\n'
    backend = 'config = SimpleNamespace(backend=lambda: "none")\n'
    (tmp_path / "keras.py").write_text(printing + backend)
    for options, shown in (([], ""), (["--verbosity=1"], "chatter")):
        result = run_code(LOAD.replace("FOLDER", str(tmp_path)), *options)
        assert (result.returncode, result.stderr) == (0, shown)


HEAVY = ["keras", "tensorflow", "tensorflow_text", "jax", "matplotlib", "numpy", "sacrebleu"]
# Forks a process for each command line, [name, argument, …], and checks its imports at the end.
FORKS = """
import json, runpy
lines, heavy = map(json.loads, sys.argv[1:])
for name, *arguments in lines:
    child = os.fork()
    if not child:
        sys.argv = [f"t2t-{name}", *arguments]
        try:
            runpy.run_module(f"t2t_keras.cli.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as exit:
            assert exit.code == (0 if "--help" in arguments else 2), exit.code
            loaded = set(heavy) & set(sys.modules)
            assert not loaded, f"{name} {arguments} loads {loaded}"
            sys.stdout.flush()
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_help_and_wrong_flags_load_no_heavy_module():
    lines = [[name, flag] for name in COMMANDS for flag in ("--help", "--no_such_flag")]
    lines.append(["train", "--config=base", "--config.model.d_ff=3", "--no_such_flag"])
    result = run_code(FORKS, json.dumps(lines), json.dumps(HEAVY))
    assert result.returncode == 0, result.stderr
    for name in COMMANDS:
        assert f"t2t-{command_of(name)}: " in result.stdout, "its docstring"
        assert f"{name}.py: Unknown command line flag 'no_such_flag'" in result.stderr


def test_every_command_is_installed():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    installed = re.search(r"for command in \((.*?)\)", setup, re.S).group(1)
    assert sorted(re.findall(r"\w+", installed)) == sorted(map(command_of, COMMANDS))


def command_of(module):
    """`import` is a keyword of Python, so the module of t2t-import has another name."""
    return module.removesuffix("_model")


@pytest.mark.long
def test_translating_imports_no_package_that_it_does_not_use():
    unused = ["jax", "matplotlib", "pandas", "sacremoses", "scipy"]
    result = run_code(
        f"""
        import gc
        from absl import flags, logging
        from t2t_keras.cli.backend import load_backend
        flags.FLAGS(["t2t-translate"])
        load_backend()
        import t2t_keras.runs.run
        loaded = set({unused}) & set(sys.modules)
        assert not loaded, loaded
        assert gc.isenabled() and gc.get_freeze_count() > 100_000
        import matplotlib  # it can be imported later
        """
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("environment", "file", "expected"),
    [
        ({}, None, False),
        ({}, '{"backend": "tensorflow"}', False),
        ({}, '{"backend": "jax"}', True),
        ({"KERAS_BACKEND": "jax"}, '{"backend": "tensorflow"}', True),
        ({"KERAS_BACKEND": "tensorflow"}, '{"backend": "jax"}', False),
    ],
)
def test_jax_is_imported_only_as_the_backend_of_keras(
    monkeypatch, tmp_path, environment, file, expected
):
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    for name, value in {"KERAS_HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    if file is not None:
        (tmp_path / "keras.json").write_text(file)
    assert may_use_jax() is expected
