"""The examples in the docstrings run and print what they show."""

import doctest
import importlib

import keras
import numpy as np
import pytest
from support.processes.commands import ROOT

import t2t_keras
from t2t_keras import layers

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("t2t_keras", "pipelines")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    public = {name: getattr(t2t_keras, name) for name in t2t_keras.__all__}
    names = {**vars(layers), **public, **vars(module), "keras": keras, "np": np}
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted and not result.failed
