"""The process of a command: encodings, an early Ctrl-C. Each test starts one."""

import os
import subprocess
import sys

from support.processes.commands import ROOT


def started(name, *arguments, **environment):
    """Runs `t2t-NAME` with further variables. None removes one."""
    command = [sys.executable, "-m", "t2t_keras.cli", name, *arguments]
    variables = {key: value for key, value in {**os.environ, **environment}.items() if value}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True)


def test_text_is_written_in_utf_8_whatever_the_locale():
    latin = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    help_text = started("translate", "--help", **latin)
    assert (help_text.returncode, help_text.stderr) == (0, b"")
    assert "translation, tab, 0-0 1-2 …" in help_text.stdout.decode()
    assert started("translate", b"--n\xff\xc3\xa4", PYTHONIOENCODING="ascii").stderr.startswith(
        "t2t-translate: Unknown command line flag 'n\\udcffä'. See t2t-".encode()
    )


def test_without_a_home_libraries_use_tmp(tmp_path):
    """A user may have neither the variable HOME nor an entry in the list of users."""
    (tmp_path / "sitecustomize.py").write_text("import pwd\npwd.getpwuid = {}.__getitem__\n")
    (tmp_path / "absl.py").write_text("import os\nraise SystemExit(os.path.expanduser('~'))\n")
    assert started("translate", HOME=None, PYTHONPATH=str(tmp_path)).stderr == b"/tmp\n"


def test_ctrl_c_during_the_first_import_ends_with_a_message(tmp_path):
    (tmp_path / "absl.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    result = started("translate", "--help", PYTHONPATH=str(tmp_path))
    assert result.returncode == 130
    assert result.stderr == b"\nt2t-translate: interrupted\n"
