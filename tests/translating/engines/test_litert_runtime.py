"""Programs are planned again when the memory that they share has moved, or may move in a run."""

import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from t2t_keras.translating.engines.litert_model import LoadedProgram, Workspace, programs_in


class Interpreter:
    """Notes the plans and runs of each program, and like LiteRT makes no plan without a change."""

    def __init__(self):
        self._interpreter, self.done, self.shapes, self.changed = self, [], {}, set()

    def get_signature_runner(self, name):
        return SimpleNamespace(_subgraph_index=name, _inputs={"x": 0, "y": 1}, _outputs={})

    def ResizeInputTensor(self, index, shape, strict, name):
        if self.shapes.get((name, index)) != tuple(shape):
            self.shapes[name, index] = tuple(shape)
            self.changed.add(name)

    def AllocateTensors(self, name):
        if name in self.changed:
            self.done.append(f"plan {name}")
        self.changed.discard(name)

    def tensor(self, interpreter, index, name):
        return np.ones(self.shapes[name, index])

    def Invoke(self, name):
        self.done.append(f"run {name}")


@pytest.fixture
def interpreter():
    return Interpreter()


@pytest.fixture
def programs(interpreter):
    workspace = Workspace()
    return [LoadedProgram(interpreter, name, workspace) for name in ("first", "second")]


def test_programs_are_planned_again_when_one_of_them_has_grown(interpreter, programs):
    first, second = programs
    small, wide, long = ({"x": x, "y": (2,)} for x in ((1, 4), (3, 2), (1, 8)))

    def done(program, shapes):
        interpreter.done.clear()
        program.resize(shapes)
        return interpreter.done

    # The first run may move the memory of what has been planned before it.
    assert done(first, small) == ["plan first", "run first", "plan first"]
    assert done(first, small) == []
    assert done(second, long) == ["plan second", "run second", "plan second"]
    assert done(first, small) == ["plan first"]
    assert interpreter.shapes["first", 0] == (1, 4) and interpreter.shapes["first", 1] == (2,)
    assert done(first, small) == []
    assert done(second, small) == ["plan second"]  # fits into the memory of its longer plan
    assert done(first, small) == []
    assert done(second, wide) == ["plan second", "run second", "plan second"]
    assert done(first, small) == ["plan first"]


def test_inputs_of_the_first_run_are_zeros(interpreter, programs, monkeypatch):
    arrays, seen = {0: np.full((1, 4), 7), 1: np.full(2, 7)}, []
    monkeypatch.setattr(interpreter, "tensor", lambda _, index, name: arrays[index])
    monkeypatch.setattr(
        interpreter, "Invoke", lambda name: seen.extend(x.tolist() for x in arrays.values())
    )
    programs[0].resize({"x": (1, 4), "y": (2,)})
    assert seen == [[[0, 0, 0, 0]], [0, 0]]


def test_a_first_run_that_failed_is_repeated(interpreter, programs, monkeypatch):
    shapes = {"x": (1, 4), "y": (2,)}
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(interpreter, "Invoke", Mock(side_effect=MemoryError))
        programs[0].resize(shapes)
    interpreter.done.clear()
    programs[0].resize(shapes)
    assert interpreter.done == ["plan first", "run first", "plan first"]


def test_without_litert_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ValueError, match="pip install ai-edge-litert"):
        programs_in(b"")
