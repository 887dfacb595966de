"""`import t2t_keras` in a program, and in one of the package's commands."""

import importlib.util
import os
import subprocess
import sys

import keras
import pytest
from support.processes.commands import ROOT

import t2t_keras


def imported(monkeypatch, *arguments):
    """Imports the package again, as a process with these arguments does."""
    monkeypatch.setattr(sys, "orig_argv", ["python", *arguments])
    spec = importlib.util.spec_from_file_location("t2t_keras_again", t2t_keras.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = [["program.py", "t2t-train"], ["-m", "t2t_keras.client"], []]
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
def test_a_command_prepares_its_process_and_imports_classes_later(monkeypatch, arguments):
    prepared = []
    process = importlib.import_module("t2t_keras.cli.process.streams")  # others may have removed it
    monkeypatch.setattr(process, "begin", lambda: prepared.append(True))
    module = imported(monkeypatch, "-u", "-B", *arguments)
    assert not set(module.__all__) & set(vars(module))
    assert module.Transformer is t2t_keras.Transformer
    assert prepared == [True]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'t2t_keras' has no attribute 'Transformers'"):
        t2t_keras.__getattr__("Transformers")


PROGRAMS_WITH_KERAS = [
    "import t2t_keras, keras",
    "import keras, t2t_keras",
    "from t2t_keras.runs import Run; import keras",
]


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS_WITH_KERAS)
def test_every_program_can_load_models(program, tmp_path):
    path = tmp_path / "model.keras"
    model = t2t_keras.Transformer(
        t2t_keras.TransformerConfig(vocab_size=9, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    )
    model.save(path)
    program += f"\nassert keras.saving.load_model({str(path)!r}).count_params()"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_a_program_that_needs_no_keras_does_not_load_it():
    program = """import sys
import t2t_keras.ops, t2t_keras.decoding.search
import t2t_keras.translating.exports, t2t_keras.serving.server
assert not {"keras", "tensorflow"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_an_import_that_fails_is_forgotten(tmp_path):
    (tmp_path / "keras.py").write_text("import os\nassert os.environ['WORKS'] == '1'\nModel = 1\n")
    program = """import os, sys, t2t_keras
os.environ["WORKS"] = "0"
try:
    import t2t_keras.losses
except AssertionError:
    pass
else:
    sys.exit("Keras should have failed")
(finder,) = [each for each in sys.meta_path if hasattr(each, "is_registered")]
assert finder.loading == 0 and not finder.is_registered
finder.register = lambda: print("registered")
os.environ["WORKS"] = "1"
import keras
"""
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, check=True, capture_output=True, env=environment, text=True)
    assert result.stdout == "registered\n"
