"""Each flag of t2t-import has an effect, or is refused with one message."""

import json

import numpy as np
import pytest
from support.importing import ctranslate2_folder, opennmt_tf_folder, tensor2tensor_folder
from support.importing.loopback_hub import loopback_hub, write_card
from support.processes.commands import command
from support.processes.in_process import ended, refused

from pipelines.atomic_files import read_json
from t2t_keras.runs import Run


def imported(folder, run, *flags):
    """Imports a folder, which must succeed; returns the `Run` and the command's output."""
    result = ended("import_model", folder, f"--run={run}", "--noexport", *flags)
    assert result.returncode == 0, result.stderr
    return Run(run), result.stdout


@pytest.fixture(scope="module")
def opennmt_tf(tmp_path_factory):
    """A model whose number of heads is not known."""
    folder = tmp_path_factory.mktemp("opennmt_tf")
    return opennmt_tf_folder.write(folder, opennmt_tf_folder.arrays(), description=None)


@pytest.fixture(scope="module")
def tensor2tensor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tensor2tensor")
    pieces = [*tensor2tensor_folder.PIECES[:-1], "10_"]  # of the alphabet that it has
    return tensor2tensor_folder.write(folder, tensor2tensor_folder.arrays(), pieces=pieces)


@pytest.mark.long
def test_the_number_of_heads_is_a_setting_of_the_run(opennmt_tf, tmp_path):
    run, output = imported(opennmt_tf, tmp_path / "run", "--num_heads=4")
    assert run.experiment().model.num_heads == 4
    assert "the source has no <s> and no </s>" in output
    assert len(run.translate(["a b", ""], beam=1, extra_length=2)) == 2


def test_source_flags_are_settings_of_the_run(tmp_path):
    folder = ctranslate2_folder.write_folder(tmp_path / "model")
    run, output = imported(folder, tmp_path / "plain")
    assert not run.experiment().model.source_end and not run.tokenizer().source.begin
    assert "import with --source_end" in output
    run, output = imported(folder, tmp_path / "given", "--source_begin", "--source_end")
    assert run.experiment().model.source_end and run.tokenizer().source.begin
    assert "the source has" not in output


@pytest.mark.parametrize("flag", ["--export", "--noexport"])
def test_an_import_exports_the_run_unless_it_is_told_not_to(tmp_path, monkeypatch, flag):
    exported = []
    monkeypatch.setattr(Run, "renew_exports", lambda run, show: exported.append(run.folder))
    folder = ctranslate2_folder.write_folder(tmp_path / "model")
    run, output = imported(folder, tmp_path / "run", flag)
    assert exported == [run.folder] * (flag == "--export")
    assert f"Try it: t2t-translate {run.folder}" in output


@pytest.mark.long
def test_a_target_space_changes_the_vectors_of_the_source(tensor2tensor, tmp_path):
    matrices = []
    for flags in ([], ["--target_space=9"]):
        run, output = imported(tensor2tensor, tmp_path / f"run{len(matrices)}", *flags)
        assert f"target space {(flags or ['0'])[0][-1]} is a part" in output
        weights = {weight.path: weight.numpy() for weight in run.model().trainable_weights}
        (path,) = (path for path in weights if path.endswith("source_embedding/matrix"))
        matrices.append(weights[path])
    assert np.abs(matrices[0] - matrices[1]).min(axis=1)[4:].max() > 0.01


def test_the_format_chooses_between_two_in_one_folder(opennmt_tf, tmp_path):
    folder = tmp_path / "both"
    opennmt_tf_folder.write(folder, opennmt_tf_folder.arrays())
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}))
    message = refused("import_model", "{0} --run={1}/run", folder, tmp_path)
    assert "looks like several formats: hugging_face, opennmt_tf. Choose one with" in message
    run, _ = imported(folder, tmp_path / "run", "--format=opennmt_tf")
    assert read_json(run.config_file)["imported"] == "OpenNMT-tf"


MISTAKES = {
    "--run={0}/run": "takes one folder or file of another system",
    "{1}": "--run: give the folder of the new run",
    "{1} --run={1}/ckpt-5.index": "is a file. Give the name of a new folder",
    "{1} --run={0}/run": "Give it with --num_heads",
    "{1} --run={0}/run --num_heads=3": "must be a divisor of the widths of keys and values, 8",
    "{1} --run={0}/run --num_heads=2 --target_space=1": "--target_space is not for models of the",
    "{1} --run={0}/run --format=opennmt": "`format` must be one of",
    "{1} --run={0}/run --format=tensor2tensor": "must have one checkpoint",
    "{2} --run={0}/run --target_space=32": "below 32. Received: target_space=32",
    "{2} --run={0}/run --num_heads=2": "--num_heads is not for models of the format tensor2tensor",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named_before_anything_is_written(
    opennmt_tf, tensor2tensor, tmp_path, line, message
):
    assert message in refused("import_model", line, tmp_path, opennmt_tf, tensor2tensor)
    assert not (tmp_path / "run").exists()


def test_a_model_of_the_hub_is_imported_like_its_folder(tmp_path):
    folder = ctranslate2_folder.write_folder(tmp_path / "opus-mt-en-de")
    local, _ = imported(folder, tmp_path / "local", "--languages=en,de")
    write_card(folder, license="cc-by-4.0")
    (folder / "tf_model.h5").write_bytes(b"for another program")
    arguments = ["hf:me/opus-mt-en-de", f"--run={tmp_path}/run", "--noexport"]
    wrong = ["hf:me/none", f"--run={tmp_path}/none"]
    with loopback_hub() as hub:
        revision = hub.add("me/opus-mt-en-de", folder)
        options = {"environment": hub.environment(tmp_path / "home")}
        result = command("import_model", *arguments, **options)
        assert result.returncode == 0, result.stderr
        assert not hub.sent("tf_model.h5")
        requests = len(hub.log)
        assert "exists already, with" in command("import_model", *arguments, **options).stderr
        assert len(hub.log) == requests
        assert "has no model me/none" in command("import_model", *wrong, **options).stderr
    assert f"revision {revision}: license cc-by-4.0\nlanguages: English to German" in result.stdout
    run = Run(tmp_path / "run")
    assert run.languages() == local.languages() == ("en", "de")
    assert run.weights_file_digest() == local.weights_file_digest()
    origin = read_json(run.config_file)["origin"]
    assert (origin["hub"], origin["license"]) == ("me/opus-mt-en-de", "cc-by-4.0")
    assert "origin" not in read_json(local.config_file)
