"""Drill: no command loses anything on a full disk, and each resumes when there is room again.

`T2T_DRILL` is the number of cases; 0: all.
"""

import itertools
import shutil

import pytest
from support.processes.accidents import check_cases, contents, copied, is_done, refusal
from support.processes.commands import SMALL_CORPUS, command
from support.runs.trained_run import averaged, results_of, train_flags

pytestmark = pytest.mark.drill
FULL = (3_000, 10_000, 30_000, 100_000, 300_000)  # bytes of a file that still fit on the disk


def test_a_full_disk(trained, toy_corpus, toy_data, texts, tmp_path):
    run, data = tmp_path / "run", tmp_path / "data"
    outputs = {name: tmp_path / name for name in ("translations", "scores", "export")}
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

    expected = {}

    def problem_of(action, size):
        name, arguments, results = actions[action]
        if action not in expected:
            reset()
            assert is_done(command(name, *arguments))
            expected[action] = results()
        reset()
        result = command(name, *arguments, limits={"FSIZE": size})
        problem = None
        if not is_done(result):
            problem = refusal(result, "File too large", "could not be written")
        for version in outputs["export"].glob("[0-9]*"):
            if version.suffix != ".unfinished" and not (version / "export.json").exists():
                problem = f"{version} is not whole"
        again = command(name, *arguments)
        if again.returncode:
            return f"{problem}; afterwards: {again.stderr}"
        if results() != expected[action]:
            return f"{problem}; afterwards the results are different"
        return problem

    check_cases(list(itertools.product(actions, FULL)), problem_of)
