"""A table with one column per system and speeds relative to one of them, and the flag --rounds."""

from absl import flags

from t2t_keras.cli.benchmarks.ctranslate2_engines import BASELINE

ROUNDS = flags.DEFINE_integer(
    "rounds",
    7,
    "attention, data, decode, glossary, train: timed calls of each measurement; medians are "
    "printed.",
    lower_bound=1,
)
NAME = 30  # width of the first column, in characters
COLUMN = 21  # width of the other columns, in characters


def print_head(systems):
    print(f"{'':<{NAME}}" + "".join(f"{system:>{COLUMN}}" for system in systems), flush=True)


def print_speeds(name, speeds):
    """Prints speeds and, in brackets, their ratios to the baseline's speed.

    Args:
        name: what was measured, with its unit.
        speeds: {system: speed}.
    """
    print_row(name, speeds, speeds)


def print_times(name, times):
    """Prints times and, in brackets, the ratios of the speeds: the baseline's time / the time."""
    print_row(name, times, {system: 1 / time for system, time in times.items()})


def print_row(name, values, speeds):
    line = f"{name:<{NAME}}"
    for system, value in values.items():
        cell = f"{value:.2f}"
        if BASELINE in speeds:
            cell += f" ({speeds[system] / speeds[BASELINE]:.2f})"
        line += f"{cell:>{COLUMN}}"
    print(line, flush=True)


def print_facts(name, facts, form="{}"):
    """Prints numbers that are not speeds: {system: number, or None if it was not measured}."""
    cells = ("–" if fact is None else form.format(fact) for fact in facts.values())
    print(f"{name:<{NAME}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells), flush=True)
