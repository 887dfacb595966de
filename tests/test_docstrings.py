"""The examples in the docstrings run and print what they show."""

import doctest
import importlib
from pathlib import Path

import keras
import numpy as np
import pytest

import t2t_keras
from t2t_keras import layers

PACKAGE = Path(t2t_keras.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    names = {**vars(layers), **vars(t2t_keras), **vars(module), "keras": keras, "np": np}
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted and not result.failed
