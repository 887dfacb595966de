"""Drill: Argos Translate installs a package of t2t-export and translates as the run does.

Argos Translate's dependencies clash with this project's, so it has an environment of its own:

    python3 -m venv argos
    argos/bin/pip install --no-deps argostranslate==1.11.0 minisbd==0.9.5 packaging ctranslate2 \\
        sentencepiece numpy onnxruntime filelock flatbuffers protobuf pyyaml setuptools onnx \\
        ml_dtypes typing_extensions
    touch argos/lib/python3*/site-packages/stanza.py
    T2T_ARGOS=argos/bin/python python -m pytest -n0 -s -m drill tests/drills/test_argos.py

The empty stanza.py takes the place of Stanza with PyTorch, which only packages with a folder
`stanza` use. Argos splits texts with MiniSBD, which downloads a model for each language; here, onnx
writes one that finds no sentence ends, because each line is a sentence. Argos chooses the type to
compute in; ARGOS_COMPUTE_TYPE makes it float32.

`T2T_ARGOS_RUN` is a trained run of English to German, and `T2T_ARGOS_TEXT` a file of English lines,
of which the first 20 are translated. Without them, the drill trains on the toy grammar.
"""

import os
import subprocess
from pathlib import Path

import pytest
from support.processes.commands import command

from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run
from t2t_keras.runs.importing.import_run import import_run
from t2t_keras.translating.languages import Languages

ARGOS = os.environ.get("T2T_ARGOS")
pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(not ARGOS, reason="T2T_ARGOS does not name a Python with argostranslate"),
]
SEARCH = {"beam": 4, "alpha": 0.2, "penalty": "marian", "split": "off"}
SPLITTER = """
import json, pathlib, sys
import onnx
from argostranslate import settings
from onnx import TensorProto, helper

def constant(name, kind, shape, values):
    tensor = helper.make_tensor(name, kind, shape, values)
    return helper.make_node("Constant", [], [name], value=tensor)

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
nodes = [
    helper.make_node("Cast", ["units"], ["numbers"], to=FLOAT),
    constant("axes", INT64, [1], [2]),
    constant("nothing", FLOAT, [1, 5], [0.0] * 5),
    constant("no end", FLOAT, [1, 1, 5], [1.0, 0.0, 0.0, 0.0, 0.0]),
    helper.make_node("Unsqueeze", ["numbers", "axes"], ["columns"]),
    helper.make_node("MatMul", ["columns", "nothing"], ["zeros"]),
    helper.make_node("Add", ["zeros", "no end"], ["classes"]),
]
inputs = [
    helper.make_tensor_value_info("units", INT64, ["batch", "length"]),
    helper.make_tensor_value_info("features", FLOAT, ["batch", "length", "features"]),
]
outputs = [helper.make_tensor_value_info("classes", FLOAT, ["batch", "length", 5])]
graph = helper.make_graph(nodes, "no_ends", inputs, outputs)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
units = ["<PAD>", "<UNK>"]
vocabulary = {"lang": "en", "idx": 0, "cutoff": 0, "lower": False, "_id2unit": units}
vocabulary["_unit2id"] = {unit: id for id, unit in enumerate(units)}
facts = {"lang_code": "en", "config": json.dumps({"feat_funcs": ["space_before"]})}
helper.set_model_props(model, facts | {"vocab": json.dumps(vocabulary)})
folder = settings.data_dir / "minisbd"
folder.mkdir(exist_ok=True)
onnx.save(model, str(folder / "en.onnx"))
"""
TRANSLATE = """
import sys
from argostranslate import package, translate

package.install_from_path(sys.argv[1])
translation = translate.get_translation_from_codes("en", "de")
for line in sys.stdin.read().splitlines():
    print(translation.translate(line))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    if "T2T_ARGOS_RUN" in os.environ:
        return Run(os.environ["T2T_ARGOS_RUN"])
    folder = tmp_path_factory.mktemp("argos") / "run"
    flags = ["--config.training.steps=600", "--config.data.toy_pairs=5000", "--noexport"]
    result = command("train", f"--run={folder}", *flags)
    assert result.returncode == 0, result.stderr
    return Run(folder)


@pytest.fixture(scope="module")
def texts():
    if "T2T_ARGOS_TEXT" in os.environ:
        return Path(os.environ["T2T_ARGOS_TEXT"]).read_text("utf-8").splitlines()[:20]
    return [english for english, _ in pairs(1000)[::50]]


def by_argos(package, texts, home, compute_type):
    """Installs a package in a new home and translates texts with Argos Translate."""
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
    environment["ARGOS_COMPUTE_TYPE"] = compute_type
    subprocess.run([ARGOS, "-c", SPLITTER], env=environment, check=True)
    result = subprocess.run(
        [ARGOS, "-c", TRANSLATE, str(package)],
        input="".join(f"{text}\n" for text in texts),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return result.stdout.splitlines()


def test_argos_translates_as_the_run_and_as_the_package_imported_again(run, texts, tmp_path):
    ours = run.translate(texts, **SEARCH)
    for dtype in ("float32", "int8"):
        path = tmp_path / f"{dtype}.argosmodel"
        package = run.export(path, "argos", dtype=dtype, languages=Languages("en", "de"))
        again = import_run(package, tmp_path / f"{dtype}-run").run.translate(texts, **SEARCH)
        found = {
            compute: by_argos(package, texts, tmp_path / f"{dtype}-{compute}", compute)
            for compute in ("float32", "auto")
        }
        counts = {
            name: sum(one == other for one, other in zip(ours, theirs, strict=True))
            for name, theirs in {**found, "imported": again}.items()
        }
        print(f"\n{dtype}: of {len(texts)} translations, these equal the run's: {counts}")
        assert found["float32"] == again
        if dtype == "float32":
            assert found["float32"] == ours
        assert counts["auto"] >= 0.8 * len(texts)
