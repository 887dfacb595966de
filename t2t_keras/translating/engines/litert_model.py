"""A model whose programs run in LiteRT, with the methods that `numpy_search` needs."""

import contextlib

import numpy as np

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.decoding.rows import BEGIN, PADDING
from t2t_keras.decoding.top_tokens import Logits
from t2t_keras.decoding_cache import in_rolling_cache, own_slots
from t2t_keras.processor import cores
from t2t_keras.quiet_loading import quiet_loading

UNIT = 16  # sources are padded to multiples of this, so that programs are rarely planned again
HIDDEN = np.float32(-np.inf)  # attention bias of a position that is not visible

SMALL = 40_000_000  # maximum bytes of a model whose matrices fit into the caches of a core
MOST = 4  # maximum number of times that a small model is loaded


def loaded_models(path, layout, longest=None, threads=None):
    """Returns the `LiteRTModel`s of a flatbuffer, which compute parts of a batch at the same time.

    Several threads halve the time of a long step, but double the time of a short one. A large model
    therefore has a thread for each core, or at most `threads`. A small model is loaded once for
    each core, at most `MOST` times, with one thread.
    """
    threads, contents = threads or cores(), path.read_bytes()
    counts = [1] * min(threads, MOST) if len(contents) <= SMALL else [threads]
    return [LiteRTModel(programs_in(contents, count), layout, longest) for count in counts]


class LiteRTModel:
    """Decodes like a `Transformer`. The search state has a `Decoding` in place of the cache.

    Args:
        programs: {name: `LoadedProgram`}.
        layout: description of the programs' arrays in the export; see `layout_of`.
        longest: maximum length of a sequence. None: no maximum.
    """

    def __init__(self, programs, layout, longest=None):
        self.programs, self.layout, self.longest = programs, layout, longest

    def start_decoding(self, source, max_length, beams=1):
        found = [self.encoded(ids[: np.count_nonzero(ids)]) for ids in source]
        memory = {name: stacked([each[name][0] for each in found]) for name in found[0]}
        program = self.programs[f"step_{beams}"]
        return None, Decoding(program, self.layout, beams, memory, len(source), max_length)

    def encoded(self, ids):
        """Returns the memory of one source, {name: array}, without padding for longer sources."""
        length = max(-(-len(ids) // UNIT), 1) * UNIT
        # Learned positions have no rows beyond the maximum length.
        padded = np.zeros((1, min(length, self.longest or length)), "int32")
        padded[0, : len(ids)] = ids
        return self.programs["encode"](source=padded)

    def extend_cache(self, cache, max_length, beams=1):
        cache.extend(max_length)
        return cache

    def chosen(self, memory, cache, rows):
        cache.choose(rows)
        return memory, cache

    def decode_step(self, tokens, position, cache, memory, visible=None):
        return cache.decode(tokens, int(position), visible), cache

    def reader(self, source, room, steps):
        """Returns a function for `drafted_search` that reads up to `steps` tokens at once."""
        memory = self.encoded(source[0, : np.count_nonzero(source)])
        program = self.programs["step_1" if steps == 1 else "steps"]
        cache = Decoding(program, self.layout, 1, memory, 1, room, steps)
        visible = np.zeros((1, 1, room), "bool")

        def read(tokens, position):
            visible[..., position:], visible[..., :position] = False, True
            logits = cache.decode(tokens, position, visible)
            values, ids, normalizer = (each[: len(tokens)] for each in logits.top_tokens)
            values = np.where(ids > BEGIN, values - normalizer[:, None], np.float32(IMPOSSIBLE))
            rows, best = np.arange(len(tokens)), values.argmax(axis=1)
            return values[rows, best], ids[rows, best]

        return read


class Decoding:
    """A batch that is being decoded. Between steps, its cache is in the inputs of the program."""

    def __init__(self, program, layout, beams, memory, sentences, room, length=1):
        self.program, self.beams, self.memory, self.length = program, beams, memory, length
        self.sentences, self.room, self.kept = sentences, room, layout["kept"]
        self.caches = layout["caches"][str(beams)]  # {name: [is in a KeptCache, shape, dtype]}
        self.only_reads = any(is_kept for is_kept, *_ in self.caches.values())
        self.cache = {  # None while it is in the inputs of the program
            name: np.zeros(self.shape(name), dtype) for name, (_, _, dtype) in self.caches.items()
        }

    @property
    def positions(self):
        return self.room if self.kept is None else min(self.room, self.kept)

    def shape(self, name):
        is_kept, shape, _ = self.caches[name]
        shape = [self.sentences, *shape[1:]]
        if is_kept:
            shape[2] = self.positions * self.beams
        return tuple(shape)

    def unload(self):
        """Copies the cache out of the program's inputs."""
        if self.cache is None:
            self.cache = {name: self.program.input(name).copy() for name in self.caches}

    def extend(self, room):
        self.unload()
        self.room = room
        for name, x in self.cache.items():
            sizes = zip(self.shape(name), x.shape, strict=True)
            self.cache[name] = np.pad(x, [(0, new - old) for new, old in sizes])

    def choose(self, rows):
        self.unload()
        self.sentences = len(rows)
        self.memory, self.cache = (
            {name: x[rows] for name, x in each.items()} for each in (self.memory, self.cache)
        )

    def load(self):
        """Copies the memory and the cache into the program's inputs."""
        program, inputs = self.program, self.memory | self.cache
        shapes = {
            "tokens": (self.sentences * self.beams,),
            "position": (1,),
            "visible": (self.sentences, self.beams * self.length, self.positions * self.beams),
        }
        if self.length > 1:
            shapes["tokens"] = (self.sentences, self.length)
        shapes |= {name: x.shape for name, x in inputs.items()}
        program.resize({name: shapes[name] for name in program.input_ids})
        for name in inputs.keys() & program.input_ids.keys():
            program.input(name)[...] = inputs[name]
        self.cache = None

    def decode(self, tokens, position, visible):
        if self.cache is not None:
            self.load()
        program, beams = self.program, self.beams
        slots, place = self.positions * beams, position
        if visible is None:
            visible = own_slots(position, beams, self.room * beams)
        if self.kept is not None:
            visible = in_rolling_cache(visible, position, beams, slots)
            place = position % (slots // beams)
        count = beams
        if self.length > 1:  # rows beyond the tokens are not used
            count, tokens = len(tokens), [*tokens, *[PADDING] * (self.length - len(tokens))]
        own = slice(place * beams, place * beams + count)
        bias = program.input("visible")
        bias.fill(HIDDEN)
        np.copyto(bias, 0, where=visible)
        if self.only_reads:
            bias[..., own] = HIDDEN
        program.input("tokens")[...] = tokens
        program.input("position")[...] = position
        program.run()
        for name, (is_kept, *_) in self.caches.items():
            if is_kept:
                program.input(name)[:, :, own] = program.output(name)[:, :, :count]
            else:
                program.input(name)[...] = program.output(name)
        logits = program.output("logits").view(Logits)
        logits.top_tokens = [program.output(name) for name in ("values", "ids", "normalizer")]
        return logits


def programs_in(contents, threads=1):
    """Returns {signature: `LoadedProgram`} for the bytes of a flatbuffer.

    With a path, LiteRT would map the file into memory, and crash if the file is changed in place.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise ValueError(
            "A model for LiteRT needs the package ai-edge-litert: pip install ai-edge-litert. It "
            f"could not be imported: {error}"
        ) from error
    try:
        interpreter = Interpreter(model_content=contents, num_threads=threads)
    except RuntimeError as error:  # an operation that an older LiteRT does not know
        raise ValueError(f"LiteRT cannot load the model: {error}") from error
    workspace = Workspace()
    names = interpreter.get_signature_list()
    return {name: LoadedProgram(interpreter, name, workspace) for name in names}


class Workspace:
    """The memory for intermediate results that all programs of an interpreter share.

    When a program needs more of it than any program before, LiteRT moves it. Programs that were
    planned earlier then partly compute in the old memory: without an error, some of their results
    are wrong. Therefore each program has to be planned again.
    """

    growths = 0


class LoadedProgram:
    """A signature, with its inputs and outputs as views of LiteRT's memory.

    The public methods of `ai_edge_litert` either work only for the first signature of a file, or
    copy all inputs on each call. So this class calls the private methods that they call.
    """

    def __init__(self, interpreter, name, workspace):
        self.interpreter, self.workspace = interpreter, workspace
        self.native, runner = interpreter._interpreter, interpreter.get_signature_runner(name)
        self.subgraph = runner._subgraph_index
        self.input_ids, self.output_ids = dict(runner._inputs), dict(runner._outputs)
        self.shapes, self.planned_at = {}, None
        self.largest = []  # its largest plans: {input: shape}

    def resize(self, shapes):
        """Plans the program for input shapes {name: shape}. The contents of inputs are lost."""
        if shapes == self.shapes and self.planned_at == self.workspace.growths:
            return
        self.plan(shapes)
        if not any(covers(plan, shapes) for plan in self.largest):
            self.workspace.growths += 1
            # Arrays whose shapes are known only in a run are planned in the first run, which may
            # move the memory of the parts that it has already planned.
            for name in self.input_ids:
                self.input(name).fill(0)
            self.run()
            self.plan(shapes)
            self.largest = [each for each in self.largest if not covers(shapes, each)] + [shapes]
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
        # At its first program, LiteRT logs the library that it uses.
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


def covers(plan, shapes):
    """Returns whether no input of a plan is smaller in any dimension."""
    return all(np.all(np.greater_equal(plan[name], shape)) for name, shape in shapes.items())
