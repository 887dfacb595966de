"""The plug-in files that a how-to page shows."""

import re

from support.processes.commands import ROOT

PAGE = ROOT / "t2t_keras/training/how_to_change_the_loss_or_optimizer.md"


def plug_ins():
    """Runs the plug-ins of the page. Returns their names and their numbers of lines."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)[:2]
    names = {}
    for block in blocks:
        exec(block, names)
    return names, [len(block.splitlines()) for block in blocks]
