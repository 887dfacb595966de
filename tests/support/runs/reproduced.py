"""Tiny reproduced tables: settings, and readers of what t2t-reproduce writes."""

import csv

from support.processes.commands import command

SEARCH = {"search.beam": 2, "search.extra_length": 0}
TINY = {
    "data.vocabulary.size": 400,
    "data.batches.tokens": 512,
    "data.batches.max_length": 64,
    **SEARCH,
}


def reproduce_command(table, *flags, overrides=TINY, at_stage=-1):
    """Runs t2t-reproduce with forked stages; see `command`."""
    overrides = [f"--config.{name}={value}" for name, value in overrides.items()]
    return command("reproduce", table, *flags, *overrides, at_stage=at_stage)


def started_stages(messages):
    """Returns the stages that were started, such as "base: train"."""
    return [line.split(",")[0] for line in messages.splitlines() if ", see " in line]


def without_circumstances(text):
    """Returns the lines of a table without date, machine and command."""
    lines = text.splitlines()
    return lines[:-2] if lines[-1].startswith("- `") else lines[:-1]


def cells(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
