"""Drill: every file of a run, of prepared data and of an export is damaged in every way.

Each command that reads the file must end with one clear error, or do exactly what it does with
whole files. `T2T_DRILL` is the number of cases for each kind of folder; 0: all.
"""

import itertools
import shutil
from pathlib import Path

import pytest
from support.processes.accidents import (
    DAMAGES,
    check_cases,
    contents,
    copied,
    empty,
    is_done,
    refusal,
    remove,
    truncate,
    variables_of,
)
from support.processes.commands import SMALL_CORPUS, command
from support.runs.trained_run import TEXTS, arrays_of_checkpoint, averaged, results_of, train
from support.serving.serving_client import predict, served

pytestmark = pytest.mark.drill


def commands_of_run(run, data, texts):
    """Returns {name: (function that runs a command, function that returns its results)}."""

    def runs(name, *flags, stdin=""):
        return lambda: command(name, run, *flags, stdin=stdin)

    def printed(result):
        return result.stdout

    def newest_export(result):
        newest = Path(result.stdout.strip())
        return variables_of(newest), (newest / "vocabulary" / "bpe.model").read_bytes()

    def page(_):
        return (run / "report.html").read_text().replace(str(run), "")

    source = f"--source={texts}/en"
    return {
        "translate": (runs("translate", stdin=TEXTS), printed),
        "newest": (runs("translate", "--weights=newest", stdin=TEXTS), printed),
        "best": (runs("translate", "--weights=best", stdin=TEXTS), printed),
        "score": (runs("score", source, f"--target={texts}/de"), printed),
        "evaluate": (runs("evaluate", source, f"--reference={texts}/de"), printed),
        "average": (runs("average", "--last=2"), lambda _: averaged(run)),
        "report": (runs("report"), page),
        "export": (runs("export"), newest_export),
        "train": (lambda: train(run, data, texts, 8, "--noexport"), lambda _: results_of(run)),
    }


ALL = ("translate", "score", "evaluate", "average", "report", "export", "train")
# {start of a file's name: commands that read the file}
READERS = {
    "config.json": ALL,
    "vocabulary": ALL,
    "averaged.npz": ("translate", "score", "export", "train"),
    "checkpoints/best.json": ("best", "train"),
    "checkpoints/step": ("newest", "average", "train"),
    "metrics.jsonl": ("report", "train"),
    "training.jsonl": ("report", "train"),
}


def may_differ(name, damage, action):
    """Returns whether a command rightly uses what is left, without an error."""
    if damage is remove:  # the lines printed name the steps that were used
        return name.suffix == ".jsonl" or (
            "step-" in name.name and action in ("newest", "average", "train")
        )
    # What a killed process may leave.
    return damage in (truncate, empty) and name.suffix == ".jsonl"


def test_every_file_of_a_run(trained, toy_data, texts, tmp_path):
    run = tmp_path / "run"
    actions = commands_of_run(run, toy_data[1], texts)
    expected = {}
    for name, (act, results) in actions.items():
        copied(trained, run)
        result = act()
        assert result.returncode == 0, result.stderr
        expected[name] = results(result)

    def problem_of(name, damage, action):
        copied(trained, run)
        damage(run / name)
        act, results = actions[action]
        result = act()
        if not is_done(result):
            return refusal(result, name.name, name.parts[0])
        if not may_differ(name, damage, action) and results(result) != expected[action]:
            return "silently different"

    cases = [
        (name, damage, action)
        for name in map(Path, contents(trained))
        for start, actions_of_file in READERS.items()
        if str(name).startswith(start)
        for damage in DAMAGES
        for action in actions_of_file
    ]
    check_cases(cases, problem_of)


def each_damaged(folder, *actions):
    """Returns cases with each file of a folder, damage and command."""
    return list(itertools.product(map(Path, contents(folder)), DAMAGES, actions))


def test_every_file_of_prepared_data(toy_corpus, toy_data, texts, tmp_path):
    assert toy_data[0].returncode == 0
    data, run, before = tmp_path / "data", tmp_path / "run", contents(toy_data[1])
    copied(toy_data[1], data)
    assert train(run, data, texts, 2, "--noexport").returncode == 0
    expected = arrays_of_checkpoint(run)
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]

    def problem_of(name, damage, action):
        copied(toy_data[1], data)
        damage(data / name)
        if action == "prepare":
            result = command("prepare", *files, f"--output={data}", *SMALL_CORPUS)
        else:
            shutil.rmtree(run, ignore_errors=True)
            result = train(run, data, texts, 2, "--noexport")
        if not is_done(result):
            return refusal(result, name.name, name.parts[0])
        if action == "train" and arrays_of_checkpoint(run) != expected:
            return "silently different"
        if action == "prepare" and not same_data(contents(data), before):
            return "the data is not restored"

    check_cases(each_damaged(data, "prepare", "train"), problem_of)


def same_data(found, before):
    """Returns whether data is whole; a file of digests may be missing."""
    missing = before.keys() - found.keys()
    return found.items() <= before.items() and all("digests.json" in name for name in missing)


def served_translations(folder):
    with served(folder, "--name=toy") as (_, address):
        body = {"instances": TEXTS.splitlines()}
        return predict(address, body, "v1/models/toy:predict")


def test_every_file_of_an_export(trained, tmp_path):
    export = copied(trained / "export", tmp_path / "export")
    translated = command("translate", export, stdin=TEXTS).stdout
    expected = served_translations(export)
    assert expected[0] == 200, expected

    def problem_of(name, damage, action):
        copied(trained / "export", export)
        damage(export / name)
        if action == "translate":
            result = command("translate", export, stdin=TEXTS)
            if is_done(result):
                return None if result.stdout == translated else "silently different"
        else:
            result = command("serve", export, "--port=0", "--name=toy", interrupt_after=30)
        return refusal(result, name.name, str(export))

    check_cases(each_damaged(export, "translate", "serve"), problem_of)
