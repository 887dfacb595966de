"""`import t2t_keras` in a program, and in one of the package's commands."""

import importlib.util
import subprocess
import sys

import keras
import pytest
from commands import ROOT

import t2t_keras


def imported(monkeypatch, *arguments):
    """Imports the package again, as a process with these arguments does."""
    monkeypatch.setattr(sys, "orig_argv", ["python", *arguments])
    spec = importlib.util.spec_from_file_location("t2t_keras_again", t2t_keras.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = [
    ["program.py", "t2t-train"],
    ["-m", "pytest"],
    ["-c", "import t2t_keras"],
    ["-m", "t2t_keras.client"],
    [],
]
COMMANDS = [["/usr/local/bin/t2t-train", "--help"], ["-m", "t2t_keras.cli.train", "x.py"]]


@pytest.mark.parametrize("arguments", PROGRAMS)
def test_a_program_imports_every_class_so_that_keras_can_load_models(monkeypatch, arguments):
    module = imported(monkeypatch, *arguments)
    for name in module.__all__:
        assert vars(module)[name] is getattr(t2t_keras, name)
    for name in set(module.__all__) - {"TransformerConfig"}:
        registered = keras.saving.get_registered_object(f"t2t_keras>{name}")
        assert registered is getattr(t2t_keras, name)


@pytest.mark.parametrize("arguments", COMMANDS)
@pytest.mark.parametrize("options", [[], ["-u", "-B"]])
def test_a_command_prepares_its_process_and_imports_classes_later(monkeypatch, arguments, options):
    prepared = []
    process = importlib.import_module("t2t_keras.cli.process")  # others may have removed it
    monkeypatch.setattr(process, "begin", lambda: prepared.append(True))
    module = imported(monkeypatch, *options, *arguments)
    assert not set(module.__all__) & set(vars(module))
    assert module.Transformer is t2t_keras.Transformer
    assert prepared == [True]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'t2t_keras' has no attribute 'Transformers'"):
        t2t_keras.__getattr__("Transformers")


@pytest.mark.parametrize(
    "program",
    [
        "import keras, t2t_keras",
        "import t2t_keras, keras",
        "from t2t_keras.losses import LabelSmoothedCrossEntropy; import keras",
        "from t2t_keras.transformer import Transformer; import keras",
        "import importlib.util, t2t_keras; importlib.util.find_spec('keras'); import keras",
        "from t2t_keras import TransformerConfig, Transformer; import keras",
    ],
)
def test_every_program_can_load_models(program, tmp_path):
    path = tmp_path / "model.keras"
    model = t2t_keras.Transformer(
        t2t_keras.TransformerConfig(vocab_size=9, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    )
    model.save(path)
    program += f"\nassert keras.saving.load_model({str(path)!r}).count_params()"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.mark.parametrize("module", ["ops", "decoding.search", "translating.find"])
def test_without_keras_a_program_can_use_what_needs_none(module):
    program = f"import sys; sys.modules['keras'] = None; import t2t_keras.{module}"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
