"""The house's rules: who may import whom, and nothing lies about unused."""

import ast
import os
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
    {"transformer_config"},
    {"transformer", "losses", "metrics", "schedules"},
    {"training", "decoding", "evaluation", "export", "serving", "visualization", "parameters"},
    {"experiment"},
    {"runs"},
    {"reproduction"},
    {"cli"},
]
FLOOR = {part: height for height, floor in enumerate(FLOORS) for part in floor}
# The rest is written on Keras alone. These train, export and run it as graphs of a backend.
MAY_USE_A_BACKEND = {"training", "export", "serving", "runs", "reproduction", "cli"}
BACKENDS = {"tensorflow", "tensorflow_text", "jax", "torch"}
MAY_USE_PIPELINES = {"experiment", "runs", "reproduction", "cli"}


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
            if node.module == "pipelines":
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
    if package in BACKENDS and part not in MAY_USE_A_BACKEND:
        reasons.append("written on keras and keras.ops alone")
    if module.startswith("keras.src"):
        reasons.append("Keras' inside is not its interface")
    if package == "t2t_keras" and part is not None:
        if not inside:
            reasons.append("inside the package, name the module: its root stands above all")
        elif inside[0] in FLOOR and inside[0] != part and FLOOR[inside[0]] > FLOOR[part]:
            reasons.append(f"{inside[0]} stands above {part}")
    return reasons


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downward(path):
    if part_in_house(path) is not None:
        assert part_in_house(path) in FLOOR, "give the new part a floor of its own in this file"
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
        ("t2t_keras/experiment.py", "tensorflow"),
        ("t2t_keras/layers/attention.py", "t2t_keras"),
        ("t2t_keras/layers/attention.py", "keras.src.backend"),
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
    # JAX is for whoever sets Keras to it, and imported only then; the others are extras.
    optional = {"jax", "apache_beam", "ctranslate2"}
    third_party = used - set(sys.stdlib_module_names) - {"t2t_keras", "pipelines"} - optional
    assert third_party <= declared
    # What somebody else's package forgot to declare; setup.py says whose.
    assert declared - {"importlib_resources", "tensorboard"} <= third_party


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


# The tests of the model, in four parts of about equal length.
ON_JAX = {
    "transformer": ["transformer", "transformer_config", "transformer_steps"],
    "attention": ["attention", "decoder", "encoder", "local_attention"],
    "searches": ["beam_search", "greedy", "likeliest", "sampling", "search"],
    "the rest": [
        *("alignment", "feed_forward", "losses", "masks", "metrics", "positional_encoding"),
        *("residual", "schedules", "scoring", "shared_embedding", "translator"),
    ],
}
# Compiling quickly matters here, and running quickly does not.
COMPILE_QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


@pytest.mark.parametrize("part", ON_JAX)
def test_the_models_tests_pass_on_jax(part):
    """Runs every test file that has to do with the model again, on the other backend.

    But for the tests marked `one_backend`: an algorithm that is right is so whatever computes it.
    """
    pytest.importorskip("jax")
    files = [
        str(path)
        for path in ROOT.rglob("tests/**/test_*.py")
        if path.stem.removeprefix("test_") in ON_JAX[part]
    ]
    options = ["-n=0", "-p", "no:cacheprovider", "-m", "not one_backend"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env=environment(KERAS_BACKEND="jax", XLA_FLAGS=COMPILE_QUICKLY),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout and "skipped" not in result.stdout


def test_no_test_of_the_model_is_left_out_on_jax():
    rooms = {"layers", "transformer", "transformer_config", "losses", "metrics", "schedules"}
    rooms |= {"decoding"}
    modules = {path.stem for path in sources() if part_in_house(path) in rooms}
    tested = {path.stem.removeprefix("test_") for path in ROOT.glob("tests/**/test_*.py")}
    assert modules & tested <= {module for part in ON_JAX.values() for module in part}


def part_in_house(path):
    return part_of(path) if path.is_relative_to(ROOT / "t2t_keras") else None


def environment(**changes):
    return {**os.environ, **changes}


def test_the_readmes_first_use_learns_to_copy(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    assert len(code.strip().splitlines()) <= 10
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    accuracy = float(re.findall(r"token_accuracy: ([\d.]+)", result.stdout)[-1])
    assert accuracy > 0.9
    assert (tmp_path / "copy.keras").exists()
