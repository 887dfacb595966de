"""Commands parse their flags before they load anything heavy, so imports matter."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pipelines

ROOT = Path(pipelines.__file__).parent
MODULES = {path.stem: path for path in ROOT.glob("*.py") if path.stem != "__init__"}
HEAVY = {"beam_prepare", "dataset", "graph_encoding", "graph_tokenizers", "tfds_source"}
HEAVY |= {"graph_subwords", "graph_tokens", "word_piece_learner"}


def imports(path):
    """Yields the modules of this package that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "pipelines":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("pipelines."):
            yield node.module.removeprefix("pipelines.")


def test_only_the_named_modules_load_tensorflow_or_beam():
    code = "".join(f"import pipelines.{name}\n" for name in sorted(MODULES.keys() - HEAVY))
    code += "import sys; print({'tensorflow', 'apache_beam', 't2t_keras'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


def test_imports_have_no_circles():
    graph = {name: set(imports(path)) for name, path in MODULES.items()}
    assert "byte_pairs" in graph["tokenizers"]
    assert set(graphlib.TopologicalSorter(graph).static_order()) == MODULES.keys()
