"""Programs are planned again when the memory that they share has moved."""

from types import SimpleNamespace

import pytest

from t2t_keras.translating.engines.litert_runtime import LoadedProgram, Workspace


class Interpreter:
    """Counts the plans of each program, and like LiteRT makes none if no shape has changed."""

    def __init__(self):
        self._interpreter, self.plans, self.shapes, self.changed = self, {}, {}, set()

    def get_signature_runner(self, name):
        return SimpleNamespace(_subgraph_index=name, _inputs={"x": 0, "y": 1}, _outputs={})

    def ResizeInputTensor(self, index, shape, strict, name):
        if self.shapes.get((name, index)) != tuple(shape):
            self.shapes[name, index] = tuple(shape)
            self.changed.add(name)

    def AllocateTensors(self, name):
        if name in self.changed:
            self.plans[name] = self.plans.get(name, 0) + 1
        self.changed.discard(name)


@pytest.fixture
def interpreter():
    return Interpreter()


@pytest.fixture
def programs(interpreter):
    workspace = Workspace()
    return [LoadedProgram(interpreter, name, workspace) for name in ("first", "second")]


def test_a_program_is_planned_again_after_another_one_has_grown(interpreter, programs):
    first, second = programs
    small, wide, long = ({"x": x, "y": (2,)} for x in ((1, 4), (3, 2), (1, 8)))
    first.resize(small)
    first.resize(small)
    assert interpreter.plans == {"first": 1}
    second.resize(long)
    first.resize(small)
    first.resize(small)
    assert interpreter.plans == {"first": 2, "second": 1}
    assert interpreter.shapes["first", 0] == (1, 4) and interpreter.shapes["first", 1] == (2,)
    second.resize(small)  # which fits into the memory of its longer plan
    first.resize(small)
    assert interpreter.plans == {"first": 2, "second": 2}
    second.resize(wide)  # larger in one dimension
    first.resize(small)
    assert interpreter.plans == {"first": 3, "second": 3}
