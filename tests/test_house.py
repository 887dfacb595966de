"""The house's rules: who may import whom, and nothing lies about unused."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A part of t2t_keras may import the parts below it, never one above.
FLOORS = [
    {"checks"},
    {"layers"},
    {"transformer", "losses", "metrics", "schedules"},
    {"training", "decoding", "evaluation", "export", "visualization", "parameters"},
    {"experiment"},
    {"cli"},
]
FLOOR = {part: height for height, floor in enumerate(FLOORS) for part in floor}
KERAS_ALONE = {"checks", "layers", "transformer", "losses", "metrics", "schedules", "decoding"}
MAY_USE_PIPELINES = {"experiment", "cli"}


def sources():
    return sorted([*ROOT.glob("t2t_keras/**/*.py"), *ROOT.glob("pipelines/**/*.py")])


def imports(path):
    """The modules that a file names in its imports, wherever they stand in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            yield node.module
            if node.module in ("t2t_keras", "pipelines"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(path):
    """`t2t_keras/layers/attention.py` → "layers"; None for `t2t_keras/__init__.py`."""
    inside = path.relative_to(ROOT / "t2t_keras").parts[0].removesuffix(".py")
    return None if inside == "__init__" else inside


def broken_rules(path, module):
    """Why `path` may not import `module`: a list of reasons, empty if it may."""
    room = path.relative_to(ROOT).parts[0]
    package, *inside = module.split(".")
    if room == "pipelines":
        return ["pipelines imports nothing of t2t_keras"] if package == "t2t_keras" else []
    part, reasons = part_of(path), []
    if package == "pipelines" and part not in MAY_USE_PIPELINES:
        reasons.append("datasets and tokenizers are handed in")
    if package in ("tensorflow", "tensorflow_text", "jax", "torch") and (
        part is None or part in KERAS_ALONE
    ):
        reasons.append("written on keras and keras.ops alone")
    if package == "t2t_keras" and inside and inside[0] in FLOOR and part is not None:
        same = inside[0] == part
        if not same and FLOOR[inside[0]] > FLOOR[part]:
            reasons.append(f"{inside[0]} stands above {part}")
    return reasons


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downward(path):
    if path.is_relative_to(ROOT / "t2t_keras") and part_of(path) is not None:
        assert part_of(path) in FLOOR, "give the new part a floor of its own in this file"
    broken = {module: broken_rules(path, module) for module in imports(path)}
    assert not {module: reasons for module, reasons in broken.items() if reasons}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("t2t_keras/layers/attention.py", "tensorflow"),
        ("t2t_keras/layers/attention.py", "t2t_keras.transformer"),
        ("t2t_keras/losses.py", "t2t_keras.experiment"),
        ("t2t_keras/training/trainer.py", "pipelines.dataset"),
        ("t2t_keras/experiment.py", "t2t_keras.cli.main"),
        ("t2t_keras/__init__.py", "tensorflow"),
        ("pipelines/dataset.py", "t2t_keras.layers"),
    ],
)
def test_the_rules_would_notice(path, module):
    assert broken_rules(ROOT / path, module)


def test_the_top_level_holds_the_house_and_nothing_else():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    top = {name.split("/")[0] for name in tracked}
    house = {"t2t_keras", "pipelines", "configs", "tests", "setup.py", "BUILD.md", "README.md"}
    assert top <= house | {"LICENSE", ".ci", ".gitignore", "pyproject.toml"}


def test_what_setup_declares_is_what_is_imported():
    declared = set(re.findall(r'^        "([\w-]+)>=', (ROOT / "setup.py").read_text(), re.M))
    names = {"absl-py": "absl", "ml-collections": "ml_collections", "pytest": None}
    declared = {names.get(name, name.replace("-", "_")) for name in declared}
    used = {module.split(".")[0] for path in sources() for module in imports(path)}
    used |= {m.split(".")[0] for path in ROOT.glob("configs/*.py") for m in imports(path)}
    third_party = used - set(sys.stdlib_module_names) - {"t2t_keras", "pipelines"}
    assert third_party <= declared
    # Keras runs on TensorFlow here even where no file of ours names it.
    assert declared - third_party <= {"tensorflow"}


def test_importing_the_package_on_jax_loads_no_tensorflow():
    pytest.importorskip("jax")
    code = """
import sys
from t2t_keras import Transformer, TransformerConfig
import keras, t2t_keras.layers
assert keras.backend.backend() == "jax"
Transformer(TransformerConfig(vocab_size=9, num_layers=1, d_model=8, d_ff=8, num_heads=2))
heavy = {"tensorflow", "tensorflow_text", "torch", "ml_collections"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT, env=environment(KERAS_BACKEND="jax")
    )


def test_the_models_tests_pass_on_jax(request):
    """Runs every test file that has to do with the model again, on the other backend."""
    pytest.importorskip("jax")
    files = [
        *(f"tests/test_{path.stem}.py" for path in ROOT.glob("t2t_keras/layers/[a-z]*.py")),
        *(f"tests/test_{name}.py" for name in ("transformer", "losses", "metrics", "schedules")),
    ]
    files = [name for name in files if (ROOT / name).exists()]
    assert len(files) >= 13
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=environment(KERAS_BACKEND="jax"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout and "skipped" not in result.stdout


def environment(**changes):
    import os

    return {**os.environ, **changes}
