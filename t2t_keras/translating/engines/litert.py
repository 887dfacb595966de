"""The engine of a LiteRT model that t2t-export wrote. It needs neither TensorFlow nor Keras.

The searches of `t2t_keras.decoding` run on NumPy and call LiteRT for each step. So requests have
all options of a run except trees, with beams up to the exported width.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from t2t_keras.decoding.alignment import AlignmentHead, chosen
from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.lone_search import WIDEST, lone_search
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import PADDING, Hypotheses, Rows
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import METHODS, method_of, needs_draws
from t2t_keras.decoding.search_config import ROW_OPTIONS, settings_in
from t2t_keras.export.formats import LITERT_MODEL
from t2t_keras.ops import on_numpy
from t2t_keras.translating.engines.engine import Engine, Unsupported
from t2t_keras.translating.engines.litert_model import loaded_models
from t2t_keras.translating.exports import RECORD, unusable
from t2t_keras.translating.required_phrases import REQUIRED_LONGEST


class LiteRTEngine(Engine):
    """Searches with the programs of a LiteRT model.

    Args:
        folder: folder of the model, which may be removed after loading.
        threads: see `loaded_models`.
    """

    kind = "litert"
    offers = (*ROW_OPTIONS, "method", *settings_in("sampling"))
    phrase_room = REQUIRED_LONGEST
    batch_tokens = 1024  # larger batches are no faster, and LiteRT never frees their memory

    def __init__(self, folder, threads=None):
        self.open(folder)
        try:
            self.layout, head = self.record["layout"], self.record["alignment"]
            self.attention_sizes = self.layout["attention"]
            self.has_attention = "cross" in self.attention_sizes
            self.align_with(head and AlignmentHead(**head))
        except (KeyError, TypeError, ValueError) as error:
            raise unusable(self.folder, f"{RECORD}: {error}") from error
        if self.config.method not in METHODS:
            raise ValueError(
                f"{self.folder} searches with the method {self.config.method!r}, of a plug-in "
                "file of its run. Give the run, which contains the file, or export with "
                "--method=beam"
            )
        path = self.folder / LITERT_MODEL
        self.size = path.stat().st_size
        self.models = loaded_models(path, self.layout, self.longest, threads)
        self.threads = ThreadPoolExecutor(len(self.models), thread_name_prefix="search")
        self.lock = threading.Lock()  # a program has one set of inputs

    def align_with(self, head):
        """Sets the `AlignmentHead` that aligns words. None: the default."""
        self.alignment = head or AlignmentHead()
        if self.has_attention:
            self.alignment.check(*self.attention_sizes["cross"])

    @property
    def reading(self):
        return self.models[0] if "steps" in self.models[0].programs else None

    def check(self, config, prefix, phrases):
        super().check(config, prefix, phrases)
        if config.constrain:
            raise Unsupported(
                "--constrain does not work with LiteRT, which does not know trees. Give the run, "
                "with --engine=tensorflow"
            )
        width = self.exported.beam
        if config.method == "beam" or phrases:
            self.check_width(config, phrases)
            return
        # Hypotheses of a sentence at each step: samples, or hypotheses of a plug-in's method.
        count = getattr(method_of(self.models[0], config), "count", config.beam)
        if count not in (1, width):
            raise Unsupported(
                f"LiteRT computes 1 or {width} hypotheses of a sentence with {self.name}. The "
                f"search method {config.method!r} has {count}. Give the run, with "
                "--engine=tensorflow"
            )

    def search(self, rows):
        """Divides the rows among the models, which search at the same time."""
        rows = rows._replace(source=np.asarray(rows.source, "int32"))
        count = max(min(len(self.models), len(rows.source)), 1)
        parts = [
            Rows(*(each if each is None else each[first::count] for each in rows))
            for first in range(count)
        ]
        with self.lock:
            if self.proposes(rows):
                return self.drafted(rows)
            run = map if count == 1 else self.threads.map
            found = [*run(self.searched, self.models, parts)]
        return Hypotheses(*(interleaved(each) for each in zip(*found, strict=True)))

    def searched(self, model, rows):
        """Returns the `Hypotheses` of rows that one model finds."""
        source, config = rows.source, self.config
        extras = {name: np.asarray(ids, "int32") for name, ids in rows.extras().items()}
        # Only greedy search and the exported beam width have programs of their own.
        is_beam = config.method == "beam" and rows.phrases is None
        is_narrow = is_beam and config.beam not in (1, self.exported.beam)
        if config.beam > 1 and config.alpha != self.exported.alpha:  # in float32, as in exports
            extras["alpha"] = np.full(len(source), config.alpha, ROW_OPTIONS["alpha"])
        is_alone = len(source) == 1 and not extras and not config.constrained
        if is_beam and is_alone and not is_narrow and config.beam <= WIDEST:
            return lone_search(model, config, source, self.longest)
        if is_narrow:
            method = self.narrower(model, len(source), extras)
        elif rows.phrases is None:
            method = method_of(model, config)
        else:
            follows = self.tokenizer.target.ends_phrase()
            method = ConstrainedBeamSearch(model, config, follows)
        if needs_draws(config):
            longest = source.shape[1] + config.extra_length
            extras["draws"] = draws_of(rows.index, longest, config)
        return numpy_search(method, source, self.longest, extras)

    def narrower(self, model, count, extras):
        """Returns a search of the exported width for a narrower beam, and adds it to `extras`."""
        for name, dtype in ROW_OPTIONS.items():
            extras[name] = np.full(count, getattr(self.config, name), dtype)
        # The array needs at least one column, even without prefixes.
        prefix = extras.get("prefix", np.zeros((count, 0), "int32"))
        extras["prefix"] = np.pad(prefix, [(0, 0), (0, 1)])
        return BeamSearch(model, self.config.changed(beam=self.exported.beam))

    def log_p(self, source, target):
        program, found = self.models[0].programs["log_p"], [None] * len(source)
        pairs = zip(source, target, strict=True)
        rows = [tuple(ids[None, ids != PADDING] for ids in pair) for pair in pairs]
        # Rows of the same shape follow each other, because each new shape must be planned.
        for index in sorted(range(len(rows)), key=lambda index: [x.size for x in rows[index]]):
            with self.lock:
                found[index] = program(source=rows[index][0], target=rows[index][1])["log_p"][0]
        return found

    def attention(self, source, target):
        weights = []
        for pair in zip(source, target, strict=True):
            layers = self.all_attention(*pair)["cross"]
            with on_numpy():
                (each,) = chosen(layers[:, None], self.alignment)
            weights.append(each)
        return weights

    def all_attention(self, source, target):
        source, target = (ids[None, ids != PADDING] for ids in (source, target))
        with self.lock:
            found = self.models[0].programs["attention"](source=source, target=target)
        return {kind: weights[0] for kind, weights in found.items()}


def interleaved(parts):
    """Stacks the rows of n parts. Part i has the rows i, i + n, i + 2 n, …"""
    if len(parts) == 1:
        return parts[0]
    rows = [None] * sum(map(len, parts))
    for first, part in enumerate(parts):
        rows[first :: len(parts)] = part
    return stacked(rows)
