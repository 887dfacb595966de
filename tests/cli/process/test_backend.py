import json
import os
import subprocess
import sys
import textwrap
import tomllib

import pytest
from support.processes.commands import ROOT

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
AS_COMMAND = "import os, sys\nsys.orig_argv[1:] = ['-m', 't2t_keras.cli']\n"


def run_code(code, *arguments):
    """Runs code in a new process that counts as a command, and returns its result."""
    program = [sys.executable, "-c", AS_COMMAND + textwrap.dedent(code), *arguments]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True)


def test_messages_of_libraries_are_shown_only_if_loading_fails():
    for end, code, shown in (
        ("pass", 0, ""),
        ("raise ValueError", 1, "held"),
        ("raise OSError", 1, ""),
        ("raise SystemExit(3)", 3, ""),
    ):
        result = run_code(
            f"""
            sys.excepthook = lambda *_: None
            from t2t_keras.quiet_loading import quiet_loading
            try:
                with quiet_loading(explained=(OSError,)), quiet_loading(explained=(OSError,)):
                    os.write(2, b"held")
                    {end}
            finally:
                os.write(2, b" after")
            """
        )
        assert (result.returncode, result.stderr) == (code, f"{shown} after")


@pytest.mark.long
def test_a_command_prints_nothing_of_its_libraries(toy_run, tmp_path):
    """With oneDNN's operations, TensorFlow logs an error at the first product of integers."""
    (tmp_path / "source").write_text("The dog sleeps.\n")
    command = [sys.executable, "-m", "t2t_keras.cli", "translate", toy_run[1]]
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
flags.FLAGS(["t2t-train", *sys.argv[2:]])
sys.path.insert(0, sys.argv[1])
load_backend()
"""


def test_messages_of_libraries_are_shown_with_verbosity_1_only(tmp_path):
    (tmp_path / "keras.py").write_text(
        "import os\n"
        "os.write(2, b'chatter')\n"
        "from types import SimpleNamespace\n"
        "config = SimpleNamespace(backend=lambda: 'none', set_floatx=lambda name: None)\n"
    )
    for options, shown in (([], ""), (["--verbosity=1"], "chatter")):
        result = run_code(LOAD, tmp_path, *options)
        assert (result.returncode, result.stderr) == (0, shown)


HEAVY = ["keras", "tensorflow", "tensorflow_text", "jax", "matplotlib", "numpy", "sacrebleu"]
# Forks a process for each command line, [name, argument, …], and checks its imports at the end.
FORKS = """
import json
from t2t_keras.cli.main import entry
lines, heavy = map(json.loads, sys.argv[1:])
for name, *arguments in lines:
    child = os.fork()
    if not child:
        sys.argv = [name, *arguments]
        try:
            entry()
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
    lines = [[name, "--help"] for name in SCRIPTS]
    lines.append(["t2t-train", "--config=base", "--config.model.d_ff=3", "--no_such_flag"])
    result = run_code(FORKS, json.dumps(lines), json.dumps(HEAVY))
    assert result.returncode == 0, result.stderr
    assert all(f"{name}: " in result.stdout for name in SCRIPTS), "the docstring of each"
    commands = (ROOT / "t2t_keras" / "cli").glob("*.py")
    assert sum("\ndef main(arg" in path.read_text("utf-8") for path in commands) == len(SCRIPTS)


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "code", "output", "errors"),
    [
        (["parameters", "--config=multi30k"], 0, "all  ", ""),
        (["export", "no_such_run"], 2, "", "t2t-export: needs TensorFlow as Keras' backend."),
    ],
)
def test_on_jax_a_command_runs_or_says_that_it_needs_tensorflow(arguments, code, output, errors):
    pytest.importorskip("jax")
    program = [sys.executable, "-m", "t2t_keras.cli", *arguments]
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    result = subprocess.run(program, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == code and output in result.stdout
    assert result.stderr.startswith(errors) and result.stderr.count("\n") == bool(errors)
