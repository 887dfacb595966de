"""`import t2t_keras` in a program, and the first moment of a command."""

import importlib.util
import subprocess
import sys

import pytest
from support.processes.commands import ROOT

import t2t_keras
from t2t_keras import cli


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["program.py", "t2t-train"], False),
        (["-m", "t2t_keras.client"], False),
        ([], False),
        (["/usr/local/bin/t2t-train", "--help"], True),
        (["-u", "-B", "-m", "t2t_keras.cli", "train", "x.py"], True),
    ],
)
def test_a_command_prepares_its_process(monkeypatch, arguments, expected):
    prepared = []
    process = importlib.import_module("t2t_keras.cli.process.streams")  # others may have removed it
    monkeypatch.setattr(process, "begin", lambda: prepared.append(True))
    monkeypatch.setattr(sys, "orig_argv", ["python", *arguments])
    spec = importlib.util.spec_from_file_location("t2t_keras_cli_again", cli.__file__)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert prepared == [True] * expected


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'t2t_keras' has no attribute 'Transformers'"):
        t2t_keras.__getattr__("Transformers")


@pytest.mark.long
def test_a_program_that_imports_the_transformer_can_load_models(tmp_path):
    path = tmp_path / "model.keras"
    model = t2t_keras.Transformer(
        t2t_keras.TransformerConfig(vocab_size=9, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    )
    model.save(path)
    program = "import keras\nfrom t2t_keras import Transformer\n"
    program += f"assert isinstance(keras.saving.load_model({str(path)!r}), Transformer)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_a_program_that_needs_no_keras_does_not_load_it():
    program = """import sys
import t2t_keras.ops, t2t_keras.decoding.search, t2t_keras.plugins
import t2t_keras.translating.exports, t2t_keras.serving.server
assert not {"keras", "tensorflow"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
