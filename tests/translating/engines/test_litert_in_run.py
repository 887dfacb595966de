"""A run with an export for LiteRT: the commands and Python use it without being asked."""

import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.processes.commands import ROOT

from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run
from t2t_keras.serving.engine_model import EngineModel
from t2t_keras.serving.models import ServedSavedModel
from t2t_keras.translating.engines.litert import LiteRTEngine

pytestmark = pytest.mark.long
SOURCES = [english for english, _ in pairs(12)]
LINES = "".join(f"{source}\n" for source in SOURCES)


@pytest.fixture(scope="module")
def with_export(sharp_run, tmp_path_factory):
    run = Run(shutil.copytree(sharp_run.folder, tmp_path_factory.mktemp("litert") / "run"))
    run.export(format="litert")
    run.export(format="litert", dtype="int8")
    return run


def words(name, *arguments):
    return [sys.executable, "-m", f"t2t_keras.cli.{name}", *map(str, arguments)]


@pytest.fixture
def light(without_backends):
    """A function that calls a command that can import neither TensorFlow nor Keras."""

    def call(name, *arguments, **options):
        result = subprocess.run(words(name, *arguments), **without_backends, **options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return call


def test_commands_on_the_run_load_neither_tensorflow_nor_keras(with_export, light, tmp_path):
    run, source, target = with_export, tmp_path / "source", tmp_path / "target"
    expected = run.translate(SOURCES, split="auto", engine="tensorflow")
    assert light("translate", run.folder, input=LINES).splitlines() == expected
    source.write_text(LINES)
    target.write_text("".join(f"{line}\n" for line in expected))
    given = f"--source={source}", f"--reference={target}"
    assert light("evaluate", run.folder, *given).startswith("BLEU")
    scores = light("score", run.folder, f"--source={source}", f"--target={target}")
    ours = [float(line.split("\t")[0]) for line in scores.splitlines()]
    pairs = [*zip(SOURCES, expected, strict=True)]
    theirs = [each.log_p for each in run.score(pairs, engine="tensorflow")]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose([each.log_p for each in run.score(pairs)], theirs, rtol=1e-5)
    assert light("translate", run.folder, "--dtype=int8", input=LINES).count("\n") == len(SOURCES)
    light("translate", run.folder, "--alignments", "--json", "--confidence", input=LINES)


def test_what_litert_cannot_do_is_done_by_tensorflow_and_announced(with_export, caplog):
    run, options = Run(with_export.folder), {"beam": 6, "split": "auto"}
    expected = run.translate(SOURCES, engine="tensorflow", **options)
    assert [run.translate(SOURCES, **options) for _ in range(2)] == [expected] * 2
    assert caplog.text.count("TensorFlow translates") == 1
    result = subprocess.run(
        words("translate", run.folder, "--beam=6"),
        input=LINES,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.stdout.splitlines() == expected
    reason = "TensorFlow translates, which takes longer: `beam` must be at most 4"
    assert result.stderr.count(reason) == 1
    with pytest.raises(ValueError, match="`beam` must be at most 4"):
        run.translate(SOURCES, engine="litert", **options)


@pytest.mark.parametrize("engine", ["litert", "tensorflow"])
def test_an_interrupted_translation_is_resumed_by_its_engine(with_export, tmp_path, engine):
    run = Run(shutil.copytree(with_export.folder, tmp_path / "run"))
    if engine == "tensorflow":
        (run.folder / "export_litert").rename(tmp_path / "later")
    (tmp_path / "in").write_text(LINES)
    command = words("translate", run.folder, "--lines=3", f"--input={tmp_path / 'in'}")
    command += [f"--output={tmp_path / 'out'}", "--verbosity=0"]
    journal = tmp_path / "out.unfinished.json"
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (
            journal.exists() and journal.read_text().count("\n") > 1
        ):
            pass
        process.send_signal(signal.SIGKILL)
    first = json.loads(journal.read_text().splitlines()[0])
    assert (first["engine"], first["dtype"]) == (engine, "float32")
    if engine == "tensorflow":
        (tmp_path / "later").rename(run.folder / "export_litert")
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "different command" not in result.stderr
    assert ("XLA is off" in result.stderr) == (engine == "tensorflow")
    expected = with_export.translate(SOURCES, split="auto", engine=engine)
    assert (tmp_path / "out").read_text().splitlines() == expected


def test_another_engine_or_type_is_a_different_command(with_export, tmp_path):
    (tmp_path / "in").write_text(LINES)
    command = words("translate", with_export.folder, "--lines=3", f"--input={tmp_path / 'in'}")
    command += [f"--output={tmp_path / 'out'}"]
    record = {"asked": ["auto", "int8"], "engine": "litert", "dtype": "int8"}
    (tmp_path / "out.unfinished").write_text("x\n")
    (tmp_path / "out.unfinished.json").write_text(json.dumps(record) + "\n")
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "is from a different command" in result.stderr
    expected = with_export.translate(SOURCES, split="auto")
    assert (tmp_path / "out").read_text().splitlines() == expected


def test_the_signatures_of_a_server_are_those_of_the_savedmodel(with_export, tmp_path):
    run = with_export
    theirs = ServedSavedModel(run.export(tmp_path / "export"), compile_shapes=False)
    ours = EngineModel(LiteRTEngine(run.folder / "export_litert" / "1"))
    assert ours.signatures.keys() == theirs.signatures.keys()
    assert ours.metadata.keys() == theirs.metadata.keys() - {"__saved_model_init_op"}
    texts = np.array([each.encode() for each in [*SOURCES[:3], ""]], object)
    for name, signature in ours.signatures.items():
        other = theirs.signatures[name]
        inputs = dict.fromkeys(signature.inputs, texts)
        found, expected = signature.run(inputs), other.run(inputs)
        assert found.keys() == expected.keys() == signature.outputs.keys()
        assert signature.outputs == other.outputs and signature.inputs == other.inputs
        for key, array in found.items():
            if array.dtype == object:
                assert array.tolist() == expected[key].tolist()
            else:
                check_where_both_have_tokens(key, array, expected[key])


def check_where_both_have_tokens(key, found, expected):
    """Compares weights; where there is only padding, the SavedModel computes some, too."""
    assert found.shape == expected.shape
    wanted = found != 0
    np.testing.assert_allclose(found[wanted], expected[wanted], rtol=1e-4, atol=1e-5, err_msg=key)
