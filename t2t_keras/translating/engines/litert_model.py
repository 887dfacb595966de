"""A model whose programs run in LiteRT, with the methods that `numpy_search` needs."""

import numpy as np

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.top_tokens import Logits
from t2t_keras.decoding_cache import in_rolling_cache, own_slots
from t2t_keras.processor import cores
from t2t_keras.translating.engines.litert_runtime import programs_in

UNIT = 16  # sources are padded to multiples of this, so that programs are rarely planned again
HIDDEN = np.float32(-np.inf)  # attention bias of a position that is not visible

SMALL = 40_000_000  # maximum bytes of a model whose matrices fit into the caches of a core
FEW_ROWS = 4  # maximum rows for which a small model uses one thread


def loaded_models(path, layout, longest=None, threads=None):
    """Returns the `LiteRTModel`s of a flatbuffer: for few rows and, if different, for many rows.

    Several threads halve the time of a long step, but double the time of a short one. So a small
    model is loaded twice: with one thread for few rows, and with a thread per core for many rows.

    Args:
        path: path of the flatbuffer.
        layout, longest: see `LiteRTModel`.
        threads: maximum number of threads. None: one for each core.
    """
    threads = threads or cores()
    contents = path.read_bytes()
    counts = [1, threads] if len(contents) <= SMALL and threads > 1 else [threads]
    return [LiteRTModel(programs_in(contents, count), layout, longest) for count in counts]


def model_for(models, rows):
    """Returns the model in `loaded_models` for a number of rows."""
    return models[-1 if rows > FEW_ROWS else 0]


class LiteRTModel:
    """Decodes like a `Transformer`.

    The memory and the cache of the current batch are kept in the inputs of the step's program. The
    search state contains the batch's `Decoding` in place of the cache.

    Args:
        programs: {name: `LoadedProgram`}.
        layout: description of the programs' arrays in the export; see `layout_of`.
        longest: maximum length of a sequence. None: no maximum.
    """

    def __init__(self, programs, layout, longest=None):
        self.programs, self.layout, self.longest = programs, layout, longest
        self.steps = {}

    def has_step(self, beams):
        """Returns whether there is a step program with the caches in the layout."""
        program, caches = self.programs.get(f"step_{beams}"), self.layout["caches"].get(str(beams))
        if program is None or caches is None or "encode" not in self.programs:
            return False
        return {name for name in program.input_ids if name.startswith("cache_")} == caches.keys()

    def step_of(self, beams):
        if beams not in self.steps:
            self.steps[beams] = Step(self.programs[f"step_{beams}"], self.layout, beams)
        return self.steps[beams]

    def forget(self):
        """Frees the arrays of the last batch."""
        for step in self.steps.values():
            step.loaded = None

    def start_decoding(self, source, max_length, beams=1):
        found = [self.encoded(ids[: np.count_nonzero(ids)]) for ids in source]
        memory = {name: stacked([each[name][0] for each in found]) for name in found[0]}
        return None, Decoding(self.step_of(beams), memory, len(source), max_length)

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
        return memory, cache.chosen(rows)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        return cache.step.decode(cache, tokens, int(position), visible), cache


class Decoding:
    """A batch that is being decoded.

    Args:
        step: the `Step`.
        memory: {name: array}.
        sentences: number of sentences.
        room: capacity of the cache, in tokens.
        cache: {name: array}. None: zeros.
    """

    def __init__(self, step, memory, sentences, room, cache=None):
        self.step, self.memory, self.sentences, self.room = step, memory, sentences, room
        self.cache = step.empty(sentences, room) if cache is None else cache
        self.is_loaded = False

    def unload(self):
        """Copies the cache out of the step's inputs."""
        if self.is_loaded:
            self.cache, self.is_loaded = self.step.cache_of(self), False
            self.step.loaded = None

    def extend(self, room):
        self.unload()
        self.cache = self.step.with_room(self.cache, room)
        self.room = room

    def chosen(self, rows):
        self.unload()
        parts = [{name: x[rows] for name, x in each.items()} for each in (self.memory, self.cache)]
        return Decoding(self.step, parts[0], len(rows), self.room, parts[1])


class Step:
    """The program of a step, and the batch whose memory and cache are its inputs.

    Args:
        program: the `LoadedProgram`.
        layout: see `LiteRTModel`.
        beams: hypotheses per sentence.
    """

    def __init__(self, program, layout, beams):
        self.program, self.beams, self.loaded = program, beams, None
        self.kept = layout["kept"]
        self.caches = layout["caches"][str(beams)]  # {name: [is in a KeptCache, shape, dtype]}
        self.only_reads = any(is_kept for is_kept, *_ in self.caches.values())

    def positions(self, room):
        return room if self.kept is None else min(room, self.kept)

    def empty(self, sentences, room):
        return {
            name: np.zeros(self.shape(name, sentences, room), dtype)
            for name, (_, _, dtype) in self.caches.items()
        }

    def shape(self, name, sentences, room):
        is_kept, shape, _ = self.caches[name]
        shape = [sentences, *shape[1:]]
        if is_kept:
            shape[2] = self.positions(room) * self.beams
        return tuple(shape)

    def with_room(self, cache, room):
        def extended(name, x):
            shape = self.shape(name, len(x), room)
            return np.pad(x, [(0, new - old) for new, old in zip(shape, x.shape, strict=True)])

        return {name: extended(name, x) for name, x in cache.items()}

    def load(self, decoding):
        """Copies the memory and the cache of a batch into the step's inputs."""
        if self.loaded is not None:
            self.loaded.unload()
        program, rows = self.program, decoding.sentences * self.beams
        memory_shapes = {name: x.shape for name, x in decoding.memory.items()}
        shapes = {
            "tokens": (rows,),
            "position": (1,),
            "visible": (decoding.sentences, self.beams, self.positions(decoding.room) * self.beams),
        }
        shapes |= memory_shapes | {name: x.shape for name, x in decoding.cache.items()}
        program.resize({name: shapes[name] for name in program.input_ids})
        for name, x in (decoding.memory | decoding.cache).items():
            if name in program.input_ids:
                program.input(name)[...] = x
        self.loaded, decoding.is_loaded, decoding.cache = decoding, True, None

    def cache_of(self, decoding):
        return {name: self.program.input(name).copy() for name in self.caches}

    def decode(self, decoding, tokens, position, visible):
        if self.loaded is not decoding:
            self.load(decoding)
        program, beams = self.program, self.beams
        slots = self.positions(decoding.room) * beams
        if visible is None:
            visible = own_slots(position, beams, decoding.room * beams)
        place = position
        if self.kept is not None:
            visible = in_rolling_cache(visible, position, beams, slots)
            place = position % (slots // beams)
        own = slice(place * beams, (place + 1) * beams)
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
                program.input(name)[:, :, own] = program.output(name)
            else:
                program.input(name)[...] = program.output(name)
        logits = program.output("logits").view(Logits)
        logits.top_tokens = [program.output(name) for name in ("values", "ids", "normalizer")]
        return logits
