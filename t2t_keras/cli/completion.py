"""t2t-completion: prints a script with which a shell completes the commands when you press Tab.

t2t-completion bash > ~/.t2t-completion.bash  then add to ~/.bashrc: . ~/.t2t-completion.bash
t2t-completion zsh > ~/.zfunc/_t2t  then add to ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)

It completes the names of flags, their values, configs, settings (--config.part.field=), files and
folders. The script is static, so it answers at once. Print it again after an update.
"""

import sys
from pathlib import Path

SHELLS = ("bash", "zsh")


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise ValueError(
            f"takes a shell: {' or '.join(SHELLS)}. Received: {' '.join(arguments) or 'none'}"
        )
    scripts = Path(__file__).parent / "completion_scripts"
    sys.stdout.write((scripts / f"t2t.{arguments[0]}").read_text(encoding="utf-8"))
