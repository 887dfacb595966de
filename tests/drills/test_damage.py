"""Drill: every file of a run, of prepared data and of an export is damaged in every way.

Each command that reads the file must end with one clear error, or do exactly what it does with
whole files. `T2T_DRILL` is the number of cases for each kind of folder; 0: all.
"""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from accidents import (
    DAMAGES,
    arrays_of_weights,
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
from commands import SMALL_CORPUS, TINY_RUN, command, running
from serving_client import predict

pytestmark = pytest.mark.drill
TEXTS = "The dog sleeps.\nTwo cats saw a big house.\n\n"
TIMES = ("seconds", "tokens_per_second", "flops", "checksum")  # never the same


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """The flags of a small test set."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "en").write_text(TEXTS)
    (folder / "de").write_text("Der Hund schläft.\nZwei Katzen sahen ein großes Haus.\n\n")
    return folder


def train(run, data, texts, steps, *flags):
    return command("train", *train_flags(run, data, texts, steps), *flags)


def train_flags(run, data, texts, steps):
    return [
        *(f"--run={run}", f"--data={data}", f"--config.training.steps={steps}", *TINY_RUN),
        *(f"--dev_source={texts}/en", f"--dev_target={texts}/de"),
        "--config.data.batches.tokens=4000",
    ]


@pytest.fixture(scope="module")
def trained(toy_data, texts, tmp_path_factory):
    """A run with checkpoints of steps 2, 4 and 6, averaged weights and an export."""
    run = tmp_path_factory.mktemp("trained") / "run"
    result = train(run, toy_data[1], texts, 6)
    assert result.returncode == 0, result.stderr
    return run


def arrays_of_checkpoint(run):
    """Returns the weights and moments of the newest checkpoint, as bytes."""
    with np.load(max((run / "checkpoints").glob("step-*.npz"))) as file:
        return {name: file[name].tobytes() for name in file.files if name != "notes"}


def averaged(run):
    return arrays_of_weights(run / "averaged.weights.h5")


def evaluations(run):
    """Returns the evaluations, except at step 6: only a run that ends there evaluates then."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    lines = [line for line in lines if line["step"] != 6]
    return [{name: line[name] for name in line if not name.endswith(TIMES)} for line in lines]


def results_of(run):
    return arrays_of_checkpoint(run), averaged(run), evaluations(run)


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
        return str(name) == "metrics.jsonl" or (
            "step-" in name.name and action in ("newest", "average", "train")
        )
    # What a killed process may leave.
    return damage in (truncate, empty) and str(name) == "metrics.jsonl"


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


FULL = (3_000, 10_000, 30_000, 100_000, 300_000)  # bytes of a file that still fit on the disk


def test_a_full_disk(trained, toy_corpus, toy_data, texts, tmp_path):
    run, data = tmp_path / "run", tmp_path / "data"
    outputs = {name: tmp_path / name for name in ("translations", "scores", "export", "exported")}
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    long = tmp_path / "long"
    long.write_text("The dog sleeps.\n" * 20_000)

    def versions():
        newest = outputs["export"] / "1"
        return {str(path.relative_to(newest)) for path in newest.rglob("*")}

    pairs = [f"--source={long}", f"--target={long}", f"--output={outputs['scores']}"]
    flags = [f"--input={long}", f"--output={outputs['translations']}", "--lines=5000"]
    actions = {  # name: (command, its arguments, what it writes)
        "prepare": (
            *("prepare", [*files, f"--output={data}", *SMALL_CORPUS]),
            lambda: contents(data),
        ),
        "train": ("train", train_flags(run, toy_data[1], texts, 8), lambda: results_of(run)),
        "average": ("average", [run, "--last=2"], lambda: averaged(run)),
        "export": ("export", [run, f"--output={outputs['export']}"], versions),
        "keras": (
            *("export", [run, "--format=keras", f"--output={outputs['exported']}.keras"]),
            lambda: None,
        ),
        "translate": ("translate", [run, *flags], outputs["translations"].read_bytes),
        "score": ("score", [run, *pairs], outputs["scores"].read_bytes),
        "report": ("report", [run], (run / "report.html").read_bytes),
    }

    def reset():
        copied(trained, run)
        shutil.rmtree(data, ignore_errors=True)
        for path in outputs.values():
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)

    problems, refused, expected = [], 0, {}
    cases = [(action, size) for action in actions for size in FULL]
    for action, size in chosen(cases):
        name, arguments, results = actions[action]
        reset()
        if action not in expected:
            result = command(name, *arguments)
            assert result.returncode == 0, result.stderr
            expected[action] = results()
            reset()
        result = command(name, *arguments, limits={"FSIZE": size})
        problem = None
        if result.returncode or "Traceback" in result.stderr:
            refused += 1
            problem = refusal(result, "File too large", "could not be written")
        problem = problem or leftover(tmp_path)
        again = command(name, *arguments)
        if again.returncode:
            problem = f"{problem}; afterwards: {again.stderr}"
        elif results() != expected[action]:
            problem = f"{problem}; afterwards the results are different"
        if problem:
            problems.append(f"{action}, {size:,} bytes: {problem}")
            print(problems[-1], flush=True)
    check_outcomes(problems, len(chosen(cases)), len(cases), refused)


def leftover(folder):
    """Returns a message about a version of an export that is not whole, or None."""
    for path in folder.glob("export/[0-9]*"):
        if path.suffix != ".unfinished" and not (path / "assets.extra" / "sha256.json").exists():
            return f"{path} is not whole"
    return None


def test_json_files_have_checksums(trained, toy_data):
    for folder in (trained, toy_data[1]):
        for path in folder.rglob("*.json"):
            if "assets.extra" not in path.parts:
                assert "checksum" in json.loads(path.read_text()), path
