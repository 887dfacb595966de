"""Drill: SIGKILL at random moments. Afterwards, the same command ends with the same bytes.

A command is killed, started again, killed again, until it ends by itself. Then its results are
compared and it starts anew, until it has been killed `T2T_DRILL` times.
"""

import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
import tensorflow as tf
from support.importing.loopback_hub import loopback_hub
from support.importing.random_marian import write_random_marian
from support.processes.accidents import (
    SIZE,
    arrays_of_weights,
    contents,
    results_of_run,
    variables_of,
)
from support.processes.commands import SMALL_CORPUS, TINY_RUN, command, running

from pipelines.toy.grammar import pairs
from t2t_keras.export.loading import load
from t2t_keras.translating.exports import verified_record

pytestmark = pytest.mark.drill
TEXTS = ["The dog sleeps.", "Two cats saw a big house.", "", "é中🙂"]


def drill(name, arguments, folder, results, environment=None):
    """Kills a command until it has been killed `SIZE` times; returns how often, and its ends.

    Args:
        name, arguments: the command.
        folder: its output, removed before each new start.
        results: function that returns what must be equal to the results without a kill.
        environment: changes to the environment variables.
    """
    draw, kills, ends, ended = random.Random(name), 0, 0, True
    remove(folder)
    start = time.monotonic()
    result = command(name, *arguments, environment=environment)
    assert result.returncode == 0, result.stderr
    expected, seconds = results(), time.monotonic() - start
    remove(folder)
    while kills < SIZE or not ended:
        delay = draw.uniform(0, seconds) if kills < SIZE else 600
        with running(name, *arguments, environment=environment) as process:
            ended = waited(process, delay)
            code = process.stop(signal.SIGKILL)
            errors = process.errors()
        if not ended:
            kills += 1
            continue
        ends += 1
        # An import may be killed when its run is complete.
        is_complete = code == 0 or "exists already, with the config.json of a complete" in errors
        assert is_complete and "Traceback" not in errors, errors
        found = results()
        assert found == expected, differences(found, expected)
        remove(folder)
    print(f"\n{name}: {kills} kills, {ends} times to the end, {seconds:.1f} s undisturbed")


def waited(process, seconds):
    """Waits at most some seconds; returns whether the process ended by itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    for each in path.parent.glob(f"{path.name}*"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def differences(found, expected):
    if isinstance(found, dict):
        names = found.keys() | expected.keys()
        return sorted(name for name in names if found.get(name) != expected.get(name))
    return f"{len(found):,} and {len(expected):,} bytes"


def test_prepare(tmp_path):
    texts, data = pairs(3000), tmp_path / "data"
    for column, side in enumerate(("source", "target")):
        (tmp_path / side).write_text("".join(f"{pair[column]}\n" for pair in texts))
    files = [f"--source={tmp_path}/source", f"--target={tmp_path}/target"]
    drill("prepare", [*files, f"--output={data}", *SMALL_CORPUS], data, lambda: contents(data))


def answers(folder):
    """Returns what all signatures of an export answer."""
    signatures, texts = load(folder).signatures, tf.constant(TEXTS)
    found = {name: signatures[name](text=texts) for name in ("serving_default", "translate_n_best")}
    found["score"] = signatures["score"](source=texts, target=texts[::-1])
    found["attention"] = signatures["attention"](text=texts[:2], translation=texts[:2])
    return {
        f"{name}.{key}": tensor.numpy().tolist()
        for name, outputs in found.items()
        for key, tensor in outputs.items()
    }


def results_of_training(run):
    """Returns what must be equal of a run: all but times and the layout of its graphs."""
    unfinished = sorted(path.name for path in run.rglob("*") if path.suffix == ".unfinished")
    versions = sorted(path.name for path in (run / "export").iterdir() if path.is_dir())
    verified_record(run / "export" / "1")
    exported = answers(run / "export" / "1")
    return results_of_run(run), contents(run / "vocabulary"), unfinished, versions, exported


def test_train(tmp_path):
    run = tmp_path / "run"
    arguments = [f"--run={run}", "--config.training.steps=8", *TINY_RUN]
    drill("train", arguments, run, lambda: results_of_training(run))


def test_distill(toy_run, toy_data, tmp_path):
    """The processes of stages die with the command that started them."""
    run = tmp_path / "run"
    files = ("texts/real.txt", "translated/real.txt")

    def results():
        found = {name: (run / "distillation" / name).read_bytes() for name in files}
        found["data"] = contents(run / "distillation" / "data" / "shard-000000")
        return found | {"weights": arrays_of_weights(run / "averaged.npz")}

    tiny = [flag for flag in TINY_RUN if "toy_pairs" not in flag and "vocabulary" not in flag]
    arguments = [toy_run[1], f"--data={toy_data[1]}", f"--run={run}", "--ratio=0"]
    arguments += ["--repetitions=0", "--config=quickstart", "--config.training.steps=8", *tiny]
    drill("distill", arguments, run, results)


def test_import_from_the_hub(tmp_path):
    run = tmp_path / "run"
    sizes = {"d_model": 512, "d_ff": 1024, "heads": 4, "layers": 2, "dtype": "float32"}
    folder = write_random_marian(tmp_path / "model", vocabulary=20_000, **sizes)
    arguments = ["hf:org/model", f"--run={run}", "--noexport"]
    with loopback_hub() as hub:
        hub.add("org/model", folder)
        hub.seconds = 0.01
        environment = hub.environment(tmp_path / "home")

        def results():
            shutil.rmtree(tmp_path / "home")
            return contents(run)

        drill("import_model", arguments, run, results, environment)


@pytest.fixture(scope="module")
def trained(exported_toy_run):
    assert exported_toy_run[0].returncode == 0
    return exported_toy_run[1]


def test_translate(trained, tmp_path):
    texts, output = pairs(1500, "test"), tmp_path / "out"
    (tmp_path / "in").write_text("".join(f"{english}\n" for english, _ in texts))
    arguments = [trained, f"--input={tmp_path}/in", f"--output={output}", "--lines=100"]
    drill("translate", arguments, output, output.read_bytes)


def test_export(trained, tmp_path):
    export = tmp_path / "export"

    def results():
        """Returns the answers of the first version; later ones must be whole, too."""
        versions = [path for path in export.iterdir() if path.is_dir()]
        assert all(re.fullmatch(r"\d+", path.name) for path in versions), versions
        for path in versions:
            verified_record(path)
        files = sorted(str(path.relative_to(export / "1")) for path in (export / "1").rglob("*"))
        return answers(export / "1") | {"files": files, "variables": variables_of(export / "1")}

    drill("export", [trained, f"--output={export}"], export, results)
