"""Drill: Tab is pressed in interactive shells, bash and zsh, whichever is installed."""

import os
import pty
import re
import select
import shutil
import signal

import pytest
from support.processes.commands import ROOT

SCRIPTS = ROOT / "t2t_keras" / "cli" / "completion_scripts"
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        f"bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; . {SCRIPTS}/t2t.bash",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "PS1='$ '; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D",
    ),
}
# {line before Tab: parts of what appears}
CASES = {
    "t2t-train --dev": ["--dev_source", "--dev_target"],
    "t2t-train --config=mul": ["--config=multi30k "],
    "t2t-train --config=mi": ["mixed", "mine.py"],
    "t2t-train --config=our\\ ": ["--config=our\\ own.py "],
    't2t-train --config="our': ["own.py"],
    "t2t-train --config.data.ba": ["--config.data.batches."],
    "t2t-train --config.search.method=b": ["--config.search.method=beam "],
    "t2t-train --init=runs/my": ["--init=runs/my\\ run/"],
    "t2t-translate --engine=li": ["--engine=litert "],
    "t2t-translate --input=tr": ["--input=train.en "],
    "t2t-translate runs/e": ["runs/ende/"],
}


@pytest.mark.drill
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_an_interactive_shell(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    arguments, setup = SHELLS[shell]
    for folder in ("runs/my run", "runs/ende", "functions"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("train.en", "mine.py", "our own.py", "runs/file"):
        (tmp_path / file).touch()
    shutil.copy(SCRIPTS / "t2t.zsh", tmp_path / "functions" / "_t2t")
    child, terminal = pty.fork()
    if not child:
        os.chdir(tmp_path)
        os.execvpe(shell, arguments, {**os.environ, "PS1": "$ ", "TERM": "dumb"})
    try:
        os.write(terminal, f"{setup}\n".encode())
        shown(terminal, quiet=2)
        for line, parts in CASES.items():
            os.write(terminal, f"{line}\t".encode())
            text = shown(terminal)
            assert all(part in text for part in parts), text
            assert "runs/file" not in text
            os.write(terminal, b"\x15\n")  # Ctrl-U removes the line
            shown(terminal, quiet=0.2)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def shown(terminal, quiet=0.5):
    """Returns what a terminal shows until it is quiet for some seconds."""
    text = ""
    while select.select([terminal], [], [], quiet)[0]:
        text += os.read(terminal, 65536).decode(errors="replace")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
