"""t2t-completion: its script for bash, in bash. That for zsh: tests/drills/test_completion.py."""

import os
import shlex
import subprocess

import pytest
from support.processes.commands import ROOT
from support.processes.in_process import call

SCRIPT = ROOT / "t2t_keras" / "cli" / "completion_scripts" / "t2t.bash"
# {line up to the cursor, divided into words as bash does: completions of the last word}
CASES = {
    "t2t-train --dev": ["--dev=", "--dev_source=", "--dev_target="],
    "t2t-train --no": ["--noexport"],
    "/opt/bin/t2t-train --fre": ["--freeze="],
    "t2t-train --config = mul": ["multi30k"],
    "t2t-train --config mix": ["mixed"],
    "t2t-train --config": ["--config=", "--config."],
    "t2t-train --config.": [
        f"--config.{part}." for part in ("data", "model", "search", "training")
    ],
    "t2t-train --config.data.ba": ["--config.data.batches."],
    "t2t-train --config.training.warm": ["--config.training.warmup_steps="],
    "t2t-train --config.search.method = ": ["beam", "sample"],
    "t2t-train --config.model.residual = F": ["False"],
    "t2t-train --config.nothing": [],
    "t2t-translate --engine=li": ["--engine=litert"],  # if COMP_WORDBREAKS lacks =
    "t2t-translate --config": [],
    "t2t-translate --json --alp": ["--alpha="],
    "t2t-reproduce t": ["table1", "table2", "table3", "table4"],
    "t2t-train ": [],
    "t2t-average --version": ["--version"],
}
# {line: options for readline, which completes files and folders}
OPTIONS = {
    "t2t-translate --input = x": "-o default",
    "t2t-translate runs/": "-o dirnames",
    "t2t-train --run = ": "-o dirnames",
    "t2t-train --config = ": "-o default",
    "t2t-import ": "-o default",
    "t2t-train --config.model.d_f": "-o nospace",
    "t2t-train --runs": "",
    "t2t-translate --beam = ": "",
}
LOOP = """
source {script}
compopt() {{ options+=" $*"; }}
while IFS= read -r line; do
  eval "COMP_WORDS=($line)" options=
  COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
  _t2t "${{COMP_WORDS[0]}}"
  printf '%s\\t' "${{COMPREPLY[@]}}"; printf '|%s\\n' "$options"
done
"""


def completions(lines, folder=None):
    """Returns (completions of the last word, options for readline) of each line in a folder."""
    words = [" ".join(f'"{word}"' for word in line.split(" ")) for line in lines]
    result = subprocess.run(
        ["bash", "-u", "-c", LOOP.format(script=shlex.quote(str(SCRIPT)))],
        input="\n".join(words) + "\n",
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
    )
    assert result.returncode == 0 and not result.stderr, result.stderr
    parts = [line.partition("|") for line in result.stdout.splitlines()]
    return [(sorted(filter(None, tabs.split("\t"))), options.strip()) for tabs, _, options in parts]


def test_flags_values_configs_settings_and_subjects_are_completed_and_files_by_readline():
    found = dict(zip(CASES, (words for words, _ in completions(CASES)), strict=True))
    assert found == {line: sorted(expected) for line, expected in CASES.items()}
    assert [given for _, given in completions(OPTIONS)] == list(OPTIONS.values())


def test_names_of_files_stay_whole_and_are_quoted(tmp_path):
    for name in ("my conf.py", "*.py", "$(touch x).py", "my text"):
        (tmp_path / name).touch()
    quoted = (r"\$\(touch\ x\).py", r"\*.py", r"my\ conf.py", r"my\ text")
    files = {
        "t2t-train --config = my": [r"my\ conf.py"],
        "t2t-train --config = my\\\\": [r"my\ conf.py"],  # "my\" before Tab
        "t2t-train --config=~/my": [r"--config=~/my\ conf.py"],  # if COMP_WORDBREAKS lacks =
        "t2t-translate --input=": [f"--input={name}" for name in quoted],
        "t2t-train --config = *": [r"\*.py"],
        't2t-train --config = \\"my': [],
    }
    found = dict(zip(files, (words for words, _ in completions(files, tmp_path)), strict=True))
    assert found == {line: sorted(expected) for line, expected in files.items()}


def test_the_command_prints_the_scripts_and_refuses_other_shells():
    assert call("completion", "bash").stdout == SCRIPT.read_text(encoding="utf-8")
    zsh = call("completion", "zsh").stdout
    commands = zsh.splitlines()[0].split()[1:]
    assert commands[0] == "t2t-attention" and "t2t-distill" in commands
    assert zsh.count("_arguments $common") == len(commands)
    for arguments in ((), ("fish",), ("bash", "zsh")):
        with pytest.raises(ValueError, match="takes a shell: bash or zsh"):
            call("completion", *arguments)
