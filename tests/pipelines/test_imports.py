"""Commands parse their flags before they load anything heavy, so imports matter."""

import ast
import subprocess
import sys
from pathlib import Path

import pipelines

ROOT = Path(pipelines.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.glob("**/*.py")
    if path != ROOT / "__init__.py"
}
HEAVY = {
    *("batches.dataset", "preparation.prepare_on_apache_beam"),
    *("text.tfds_source", "tokenizers.graph_tokenizers"),
}


def imports(path):
    """Yields the modules of this package that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pipelines"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name.removeprefix("pipelines.") for name in (node.module, *names)]
            yield from (name for name in names if name in MODULES)


def test_only_the_named_modules_load_tensorflow_or_beam():
    code = "".join(f"import pipelines.{name}\n" for name in sorted(MODULES.keys() - HEAVY))
    code += "import sys; print({'tensorflow', 'apache_beam', 't2t_keras'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


def test_rooms_import_only_the_rooms_below_them():
    floors = ["languages", "text", "tokenizers", "batches", "preparation"]
    for name, path in MODULES.items():
        room = name.split(".")[0]
        others = {other.split(".")[0] for other in imports(path)} - {room}
        if room in floors:
            assert not others & set(floors[floors.index(room) :]), name
        assert room != "markup" or others <= {"text"}
        assert room != "glossaries" or others <= {"checks", "languages", "text"}
        assert room != "toy" or others <= {"checks"}
