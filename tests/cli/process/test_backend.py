import importlib.util
import json
import os
import pwd
import re
import subprocess
import sys
import textwrap

import pytest
from support.processes.commands import ROOT

from t2t_keras.cli.process.backend import chosen_backend, settings_path

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
        from t2t_keras.cli.process.backend import standard_error_held
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
    start += "; sys.argv = ['t2t-train']; signal.signal(signal.SIGINT, main.interrupted)"
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
def test_a_command_prints_nothing_of_its_libraries(toy_run, tmp_path):
    """With oneDNN's operations, TensorFlow logs an error at the first product of integers."""
    (tmp_path / "source").write_text("The dog sleeps.\n")
    command = [sys.executable, "-m", "t2t_keras.cli.translate", toy_run[1]]
    command += [f"--input={tmp_path}/source", "--engine=tensorflow"]
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert result.returncode == 0 and result.stdout.count(b"\n") == 1
    lines = result.stderr.splitlines()
    assert lines and all(line.startswith(b"translating: 1 of 1 line (100%), ") for line in lines)


# Loads a module named "keras" that only prints a line.
LOAD = """
from absl import flags, logging
from t2t_keras.cli.process.backend import load_backend
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


def test_a_command_loads_its_backend_when_standard_error_is_closed(tmp_path):
    module = "from types import SimpleNamespace\n"
    module += 'config = SimpleNamespace(backend=lambda: "none")\n'
    (tmp_path / "keras.py").write_text(module)
    code = "import sys\nsys.orig_argv[1:] = ['-m', 't2t_keras.cli.train']\n"
    code += LOAD.replace("FOLDER", str(tmp_path)) + "print('loaded')\n"
    shell = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", sys.executable, "-c", code]
    result = subprocess.run(shell, cwd=ROOT, capture_output=True)
    assert (result.returncode, result.stdout) == (0, b"loaded\n")


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
        from t2t_keras.cli.process.backend import load_backend
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


@pytest.fixture
def keras_settings(monkeypatch, tmp_path):
    """Keras' settings file, which does not exist yet, with no variable that overrides it."""
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    return tmp_path / "keras.json"


@pytest.mark.parametrize(
    ("variable", "file", "expected"),
    [
        ("", None, "tensorflow"),
        ("", '{"backend": "tensorflow"}', "tensorflow"),
        ("", '{"backend": "jax"}', "jax"),
        ("jax", '{"backend": "tensorflow"}', "jax"),
        ("tensorflow", '{"backend": "jax"}', "tensorflow"),
    ],
)
def test_jax_is_imported_only_as_the_backend_of_keras(
    monkeypatch, keras_settings, variable, file, expected
):
    monkeypatch.setenv("KERAS_BACKEND", variable)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "installed")
    if file is not None:
        keras_settings.write_text(file)
    assert chosen_backend(on_jax=True) == expected


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            '{"backend": "torch"}',
            "tensorflow or jax. Set KERAS_BACKEND=tensorflow. Received: torch",
        ),
        ('{"backend": "jax"}', "needs TensorFlow as Keras' backend. Set KERAS_BACKEND=tensorflow"),
        ('{"floatx": "float64"}', "floatx must be float32. Received: float64"),
        ('{"floatx": "float16"}', "floatx must be float32. Received: float16"),
        ('{"backend": ', "Correct or delete .*keras.json: Expecting value"),
        ("[]", "Correct or delete .*keras.json: not a JSON object"),
        ("[" * 100_000, "Correct or delete .*keras.json: maximum recursion"),
    ],
)
def test_settings_of_keras_that_do_not_suit_are_refused(keras_settings, file, message):
    keras_settings.write_text(file)
    with pytest.raises(ValueError, match=message):
        chosen_backend(on_jax=False)


def test_a_backend_that_is_not_installed_is_named(monkeypatch, keras_settings):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"JAX is not installed: pip install jax\. Or: Set KERAS_B"
    ):
        chosen_backend(on_jax=True)


def test_a_user_without_a_home_has_the_settings_that_keras_finds(monkeypatch):
    for name in ("HOME", "KERAS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    assert settings_path() == "/tmp/.keras/keras.json"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "arguments", "code", "output", "message"),
    [
        ("parameters", ["--config=multi30k"], 0, "all  ", ""),
        ("export", ["no_such_run"], 2, "", "export.py: needs TensorFlow as Keras' backend."),
    ],
)
def test_on_jax_a_command_runs_or_says_that_it_needs_tensorflow(
    name, arguments, code, output, message
):
    pytest.importorskip("jax")
    result = subprocess.run(
        [sys.executable, "-m", f"t2t_keras.cli.{name}", *arguments],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == code and output in result.stdout
    assert result.stderr.startswith(message) and result.stderr.count("\n") == bool(message)
