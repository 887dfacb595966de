"""Runs the programs of a LiteRT flatbuffer on NumPy arrays, without copying unchanged inputs."""

import contextlib

import numpy as np

from t2t_keras.quiet_loading import quiet_loading


def programs_in(contents, threads=1):
    """Returns {signature: `LoadedProgram`} for a flatbuffer.

    Args:
        contents: contents of the file, as bytes. With a path, LiteRT would map the file into
            memory, and crash if the file is changed in place.
        threads: number of threads that compute a program.

    Raises:
        ValueError: LiteRT is not installed, or cannot load the file.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise ValueError(
            "A model for LiteRT needs the package ai-edge-litert: pip install ai-edge-litert. It "
            f"could not be imported: {error}"
        ) from error
    interpreter, workspace = Interpreter(model_content=contents, num_threads=threads), Workspace()
    names = interpreter.get_signature_list()
    return {name: LoadedProgram(interpreter, name, workspace) for name in names}


class Workspace:
    """The memory for intermediate results that all programs of an interpreter share.

    When a program needs more of it than any program before, LiteRT moves it. Parts of programs that
    were planned earlier then compute with the old memory, without an error, and their results are
    wrong at random. So each has to be planned again.
    """

    def __init__(self):
        self.growths = 0
        self.planned = {}  # {name of a program: its largest plans}

    def has_room(self, name, shapes):
        """Returns whether a program has been planned for inputs of these shapes or larger."""
        return any(covers(plan, shapes) for plan in self.planned.get(name, []))

    def note(self, name, shapes):
        """Notes that the program has been planned for {input: shape}."""
        others = [plan for plan in self.planned.get(name, []) if not covers(shapes, plan)]
        self.planned[name] = [*others, shapes]


def covers(plan, shapes):
    """Returns whether no input of a plan is smaller in any dimension."""
    return all(np.all(np.greater_equal(plan[name], shape)) for name, shape in shapes.items())


class LoadedProgram:
    """A signature, with its inputs and outputs as views of LiteRT's memory.

    The public methods of `ai_edge_litert` either work only for the first signature of a file, or
    copy all inputs on each call. So this class calls the private methods that they call.

    Args:
        interpreter: the `Interpreter`.
        name: name of the signature.
        workspace: the `Workspace` of the interpreter.
    """

    def __init__(self, interpreter, name, workspace):
        self.interpreter, self.name, self.workspace = interpreter, name, workspace
        self.native, runner = interpreter._interpreter, interpreter.get_signature_runner(name)
        self.subgraph = runner._subgraph_index
        self.input_ids, self.output_ids = dict(runner._inputs), dict(runner._outputs)
        self.shapes, self.planned_at = {}, None

    def resize(self, shapes):
        """Plans the program for input shapes {name: shape}. The contents of inputs are lost."""
        if shapes == self.shapes and self.planned_at == self.workspace.growths:
            return
        self.plan(shapes)
        if not self.workspace.has_room(self.name, shapes):
            self.workspace.growths += 1
            # Arrays whose shapes are known only in a run are planned in the first run, which may
            # move the memory of the parts that it has already planned.
            for name in self.input_ids:
                self.input(name).fill(0)
            self.run()
            self.plan(shapes)
            self.workspace.note(self.name, shapes)
        self.planned_at = self.workspace.growths

    def plan(self, shapes):
        if shapes == self.shapes:
            # LiteRT plans a program again only if the shape of an input changes.
            name, shape = next(iter(shapes.items()))
            self.set_shape(name, (shape[0] + 1, *shape[1:]))
            self.set_shape(name, shape)
        for name, shape in shapes.items():
            if self.shapes.get(name) != shape:
                self.set_shape(name, shape)
        # The first program makes LiteRT say that it uses its own library.
        with contextlib.nullcontext() if self.workspace.growths else quiet_loading():
            self.native.AllocateTensors(self.subgraph)
        self.shapes = dict(shapes)

    def set_shape(self, name, shape):
        shape = np.array(shape, "int32")
        self.native.ResizeInputTensor(self.input_ids[name], shape, False, self.subgraph)

    def input(self, name):
        """Returns a view of an input, which is valid until the program runs or is resized."""
        return self.native.tensor(self.interpreter, self.input_ids[name], self.subgraph)

    def output(self, name):
        """Returns a view of an output, which is valid until the program runs again."""
        return self.native.tensor(self.interpreter, self.output_ids[name], self.subgraph)

    def run(self):
        """Computes the outputs from the inputs."""
        self.native.Invoke(self.subgraph)

    def __call__(self, **arrays):
        """Runs the program on inputs of any shape; returns {output: copy of its array}."""
        self.resize({name: array.shape for name, array in arrays.items()})
        for name, array in arrays.items():
            self.input(name)[...] = array
        self.run()
        return {name: self.output(name).copy() for name in self.output_ids}
