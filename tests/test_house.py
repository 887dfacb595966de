"""The rules of the house: which file may import which, and nothing unused."""

import ast
import functools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LOSSES = "losses", "cross_entropy"
# A part of t2t_keras may import the parts below it, never one above.
FLOORS = [
    {"checks", "config_files", "ops", "options", "plugins", "processor"},
    {"quiet_loading"},
    {"decoding_cache"},
    {"layers"},
    {"guided_alignment"},
    {"transformer_config", "sequence_model"},
    {"transformer", *LOSSES, "metrics", "schedules"},
    {"rivals"},
    {"models"},
    {"decoding"},
    {"training", "evaluation", "visualization", "parameters", "importing", "export"},
    {"experiment", "stages"},
    {"translating"},
    {"serving", "runs"},
    {"reproduction", "distillation"},
    {"cli"},
]
FLOOR = {part: height for height, floor in enumerate(FLOORS) for part in floor}
SIDE_BY_SIDE = [{"serving", "runs"}, {"reproduction", "distillation"}]
# All other parts are written on Keras alone.
MAY_USE_A_BACKEND = {"training", "export", "serving", "runs", "reproduction", "cli"}
# In the rest, the engines and a single file.
ENGINES = ROOT / "t2t_keras" / "translating" / "engines"
READS_TENSORFLOW = ROOT / "t2t_keras" / "importing" / "files" / "tf_checkpoint.py"
BACKENDS = {"tensorflow", "tensorflow_text", "jax", "torch"}
MAY_USE_PIPELINES = {
    *("experiment", "stages", "translating", "runs"),
    *("reproduction", "distillation", "cli"),
}
# These modules of pipelines import nothing of it, and know no data: all parts may use them.
NEUTRAL = ("atomic_files", "printable", "checks", "registry", "exit_codes")
WITHOUT_DATA = [["pipelines", each] for each in NEUTRAL]


def sources():
    return sorted([*ROOT.glob("t2t_keras/**/*.py"), *ROOT.glob("pipelines/**/*.py")])


@functools.cache
def imports(path):
    """Returns the modules that a file imports, at its top and inside functions."""
    modules = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return modules


def part_of(path):
    """`t2t_keras/layers/attention.py` → "layers"; None for `t2t_keras/__init__.py`."""
    inside = path.relative_to(ROOT / "t2t_keras").parts[0].removesuffix(".py")
    return None if inside == "__init__" else inside


def part_in_house(path):
    return part_of(path) if path.is_relative_to(ROOT / "t2t_keras") else None


def broken_rules(path, module):
    """Returns the reasons why `path` may not import `module`; none if it may."""
    room = path.relative_to(ROOT).parts[0]
    package, *inside = module.split(".")
    part, reasons = part_in_house(path), []
    if module.startswith("absl.flags") and part != "cli":
        reasons.append("flags are read in cli/ alone")
    if room == "pipelines":
        return reasons + (["pipelines imports nothing of t2t_keras"] * (package == "t2t_keras"))
    others = package == "pipelines" and module.split(".")[:2] not in WITHOUT_DATA
    if others and part not in MAY_USE_PIPELINES:
        reasons.append("datasets and tokenizers are arguments")
    allowed = part in MAY_USE_A_BACKEND or path == READS_TENSORFLOW or ENGINES in path.parents
    if package in BACKENDS and not allowed:
        reasons.append("written on keras and keras.ops alone")
    if module.startswith("keras.src"):
        reasons.append("keras.src is private to Keras")
    if package == "t2t_keras" and part is not None:
        if not inside:
            reasons.append("inside the package, import modules, not the package")
        elif inside[0] in FLOOR and inside[0] != part and FLOOR[inside[0]] > FLOOR[part]:
            reasons.append(f"{inside[0]} is above {part}")
        elif {part, inside[0]} in SIDE_BY_SIDE:
            reasons.append(f"{part} and {inside[0]} stand side by side")
    return reasons


def test_imports_go_downward():
    broken = []
    for path in sources():
        part = part_in_house(path)
        assert part is None or part in FLOOR, f"give {part} a floor in this file"
        for module in imports(path):
            broken += [f"{path}: {module}: {reason}" for reason in broken_rules(path, module)]
    assert not broken, "\n".join(broken)


def test_no_files_import_each_other_in_a_circle():
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sources()}
    modules |= {name.removesuffix(".__init__"): path for name, path in modules.items()}
    imported = {
        path: {modules[name] for name in imports(path) if name in modules} - {path}
        for path in sources()
    }
    while True:
        importers = {path for others in imported.values() for path in others}
        free = {p for p, others in imported.items() if not others & imported.keys()}
        free |= imported.keys() - importers
        if not free:
            break
        imported = {path: others for path, others in imported.items() if path not in free}
        imported = {path: others & imported.keys() for path, others in imported.items()}
    assert not [str(path.relative_to(ROOT)) for path in imported]


def test_the_command_line_is_read_in_cli_alone():
    for path in sources():
        if part_in_house(path) != "cli":
            assert not re.search(r"\bsys\.argv\b|\bFLAGS\b", path.read_text(encoding="utf-8")), path


def test_declared_dependencies_are_those_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["train"]]
    declared = {re.match(r"[\w-]+", each)[0] for each in declared}
    names = {"absl-py": "absl", "pyyaml": "yaml"}
    declared = {names.get(name, name.replace("-", "_")) for name in declared}
    used = {module.split(".")[0] for path in sources() for module in imports(path)}
    used |= {m.split(".")[0] for path in ROOT.glob("configs/*.py") for m in imports(path)}
    # JAX is imported only where Keras is set to it; the others are extras.
    optional = {"apache_beam", "ctranslate2", "huggingface_hub", "jax", "markdown_it", "pycld2"}
    third_party = used - set(sys.stdlib_module_names) - {"t2t_keras", "pipelines"} - optional
    assert third_party <= declared
    # Dependencies of other packages that do not declare them; pyproject.toml says which.
    assert declared - {"importlib_resources", "tensorboard"} <= third_party


@pytest.mark.long
def test_importing_the_package_on_jax_loads_no_tensorflow():
    pytest.importorskip("jax")
    code = """
import sys
from t2t_keras import Transformer, TransformerConfig
import keras, t2t_keras.layers
assert keras.backend.backend() == "jax"
Transformer(TransformerConfig(vocab_size=9, num_layers=1, d_model=8, d_ff=8, num_heads=2))
heavy = {"tensorflow", "tensorflow_text", "torch"} & set(sys.modules)
assert not heavy, heavy
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
