"""Drill: every file of a run, of prepared data and of an export is damaged in every way.

Each command that reads the file must end with one clear error, or do exactly what it does with
whole files. `T2T_DRILL` is the number of cases for each kind of folder; 0: all.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from support.processes.accidents import (
    DAMAGES,
    check_outcomes,
    chosen,
    contents,
    copied,
    empty,
    files_in,
    refusal,
    remove,
    truncate,
    variables_of,
)
from support.processes.commands import SMALL_CORPUS, command, running
from support.runs.trained_run import TEXTS, arrays_of_checkpoint, averaged, results_of, train
from support.serving.serving_client import predict

pytestmark = pytest.mark.drill


def commands_of_run(run, data, texts):
    """Returns {name: (function that runs a command, function that returns its results)}."""

    def printed(result):
        return result.stdout

    def newest_export(result):
        newest = Path(result.stdout.strip())
        return variables_of(newest), (newest / "vocabulary" / "bpe.model").read_bytes()

    def trained_further(_):
        return results_of(run)

    test_set = [f"--source={texts}/en", f"--reference={texts}/de"]
    pairs = [f"--source={texts}/en", f"--target={texts}/de"]
    return {
        "translate": (lambda: command("translate", run, stdin=TEXTS), printed),
        "newest": (lambda: command("translate", run, "--weights=newest", stdin=TEXTS), printed),
        "best": (lambda: command("translate", run, "--weights=best", stdin=TEXTS), printed),
        "score": (lambda: command("score", run, *pairs), printed),
        "evaluate": (lambda: command("evaluate", run, *test_set), printed),
        "average": (lambda: command("average", run, "--last=2"), lambda _: averaged(run)),
        "report": (
            lambda: command("report", run),
            lambda _: (run / "report.html").read_text().replace(str(run), ""),
        ),
        "export": (lambda: command("export", run), newest_export),
        "train": (lambda: train(run, data, texts, 8, "--noexport"), trained_further),
    }


READERS = {
    "config.json": None,  # all
    "vocabulary": None,
    "averaged.weights.h5": ("translate", "export", "train"),
    "averaged.json": ("translate", "score", "export", "train"),
    "checkpoints/best.json": ("best", "train"),
    "checkpoints": ("newest", "average", "train"),
    "metrics.jsonl": ("report", "train"),
    "training.jsonl": ("report", "train"),
}


def readers(name):
    """Returns the commands that read a file of a run; () for files that none reads."""
    for prefix, commands in READERS.items():
        if str(name).startswith(prefix):
            return tuple(commands or ALL)
    return ()


ALL = ("translate", "score", "evaluate", "average", "report", "export", "train")


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
    cases = [
        (name, damage, action)
        for name in files_in(trained)
        for damage in DAMAGES
        for action in readers(name)
    ]
    problems, refused = [], 0
    for name, damage, action in chosen(cases):
        copied(trained, run)
        damage(run / name)
        act, results = actions[action]
        result = act()
        if result.returncode == 0 and "Traceback" not in result.stderr:
            wrong = not may_differ(name, damage, action) and results(result) != expected[action]
            problem = "silently different" if wrong else None
        else:
            problem, refused = refusal(result, name.name, name.parts[0]), refused + 1
        if problem:
            problems.append(f"{action}, {name}, {damage.__name__}: {problem}")
            print(problems[-1], flush=True)
    check_outcomes(problems, len(chosen(cases)), len(cases), refused)


def test_every_file_of_prepared_data(toy_corpus, toy_data, texts, tmp_path):
    assert toy_data[0].returncode == 0
    data, run, before = tmp_path / "data", tmp_path / "run", contents(toy_data[1])
    copied(toy_data[1], data)
    assert train(run, data, texts, 2, "--noexport").returncode == 0
    expected = arrays_of_checkpoint(run)
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    cases = [
        (name, damage, action)
        for name in files_in(data)
        for damage in DAMAGES
        for action in ("prepare", "train")
    ]
    problems, refused = [], 0
    for name, damage, action in chosen(cases):
        copied(toy_data[1], data)
        damage(data / name)
        if action == "prepare":
            result = command("prepare", *files, f"--output={data}", *SMALL_CORPUS)
        else:
            shutil.rmtree(run, ignore_errors=True)
            result = train(run, data, texts, 2, "--noexport")
        if result.returncode == 0 and "Traceback" not in result.stderr:
            problem = None
            if action == "train" and arrays_of_checkpoint(run) != expected:
                problem = "silently different"
            if action == "prepare" and not same_data(contents(data), before):
                problem = "the data is not restored"
        else:
            problem, refused = refusal(result, name.name, name.parts[0]), refused + 1
        if problem:
            problems.append(f"{action}, {name}, {damage.__name__}: {problem}")
            print(problems[-1], flush=True)
    check_outcomes(problems, len(chosen(cases)), len(cases), refused)


def same_data(found, before):
    """Returns whether data is whole; a file of digests may be missing."""
    missing = before.keys() - found.keys()
    return found.items() <= before.items() and all("digests.json" in name for name in missing)


def served_translations(folder):
    """Serves a folder; returns its translations, or the `CompletedProcess` of a refusal."""
    with running("serve", folder, "--port=0", "--name=toy") as process:
        try:
            address = re.search(r"http://[^/]+", process.line()).group()
        except TimeoutError:
            raise AssertionError("neither served nor refused") from None
        body = {"instances": TEXTS.splitlines()}
        return predict(address, body, "v1/models/toy:predict")


def test_every_file_of_an_export(trained, tmp_path):
    export = tmp_path / "export"
    copied(trained / "export", export)
    translated = command("translate", export, stdin=TEXTS).stdout
    served = served_translations(export)
    assert served[0] == 200, served
    cases = [
        (name, damage, action)
        for name in files_in(export)
        for damage in DAMAGES
        for action in ("translate", "serve")
    ]
    problems, refused = [], 0
    for name, damage, action in chosen(cases):
        copied(trained / "export", export)
        damage(export / name)
        problem = None
        if action == "translate":
            result = command("translate", export, stdin=TEXTS)
            if result.returncode == 0 and "Traceback" not in result.stderr:
                problem = None if result.stdout == translated else "silently different"
            else:
                problem, refused = refusal(result, name.name, str(export)), refused + 1
        elif intact(export, name):
            problem = None if served_translations(export) == served else "served differently"
        else:
            result = command("serve", export, "--port=0", "--name=toy", interrupt_after=30)
            problem, refused = refusal(result, name.name, str(export)), refused + 1
        if problem:
            problems.append(f"{action}, {name}, {damage.__name__}: {problem}")
            print(problems[-1], flush=True)
    check_outcomes(problems, len(chosen(cases)), len(cases), refused)


def intact(export, name):
    """Returns whether the damaged file is the manifest, and gone: such an export is served."""
    return name.name == "sha256.json" and not os.path.lexists(export / name)


def test_json_files_have_checksums(trained, toy_data):
    for folder in (trained, toy_data[1]):
        for path in folder.rglob("*.json"):
            if "assets.extra" not in path.parts:
                assert "checksum" in json.loads(path.read_text()), path
