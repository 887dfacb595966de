"""An engine for tests of the server, and a client of it, both without HTTP and TensorFlow."""

import asyncio
import functools
import json
import threading
import time
from types import SimpleNamespace

import numpy as np

from pipelines.text.normalization import Normalization
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.rows import END, PADDING, Hypotheses
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.answering import Answering
from t2t_keras.serving.apis.tensorflow_serving import TensorFlowServing
from t2t_keras.serving.batching import Batcher
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.model import ServedModel
from t2t_keras.serving.versions import Version
from t2t_keras.translating.engines.engine import Engine

TAGS = "<2de>", "<2fr>"
LAYERS, HEADS = 2, 3


@functools.cache
def tokenizer():
    """Returns a tokenizer with 400 pieces and bytes, and with tags for two languages."""
    texts = [text for pair in pairs(200) for text in pair]
    return learn(map(Normalization(), texts), VocabularyConfig(size=400, tags=TAGS))


class EchoEngine(Engine):
    """Translates a text to itself, after its prefix and its phrases.

    Later hypotheses end in exclamation marks. The scores of hypotheses are −α, −2α, and so on.
    Words are aligned in order, and have a confidence of 0.5. A text with the word "fail" raises an
    error.

    Args:
        seconds: time of each call.
        **attributes: those of `Engine`.

    Attributes:
        calls: (method, names of the columns, number of rows) of each batch.
        sources: the ids of each batch that is searched for.
        may_go_on: calls wait until this event is set.
    """

    offers, most = ("alpha", "beam", "n_best"), 4
    name = "this model"

    def __init__(self, seconds=0.0, **attributes):
        self.config, self.tokenizer, self.seconds = SearchConfig(), tokenizer(), seconds
        self.calls, self.sources, self.may_go_on = [], [], threading.Event()
        self.may_go_on.set()
        vars(self).update(attributes)

    def wait(self, method, names, rows):
        self.calls.append((method, names, rows))
        assert self.may_go_on.wait(30)
        time.sleep(self.seconds)

    def search(self, rows):
        given = [name for name in ("prefix", "phrases") if getattr(rows, name) is not None]
        self.wait("search", given, len(rows.source))
        self.sources.append(rows.source)
        found = [self.found(row, rows) for row in range(len(rows.source))]
        width = max(len(ids) for each in found for ids in each)
        tokens = np.full((len(found), self.most, width), PADDING, "int32")
        scores = np.full((len(found), self.most), -np.inf)
        for row, each in enumerate(found):
            for rank, ids in enumerate(each):
                tokens[row, rank, : len(ids)] = ids
                scores[row, rank] = -self.config.alpha * (rank + 1)
        return Hypotheses(tokens, scores)

    def found(self, row, rows):
        """Returns the hypotheses of a row, as ids with their end."""
        parts = [each[row].ravel() for each in (rows.prefix, rows.phrases) if each is not None]
        begin = [*np.concatenate([*parts, rows.source[row]])]
        skipped = {PADDING, END, *self.tokenizer.tags.values()}
        begin = [id for id in begin if id not in skipped]
        if "fail" in self.tokenizer.decode([begin])[0]:
            raise ValueError("a secret of the engine")
        (mark,) = self.tokenizer.encode(["!"])
        count = self.config.n_best
        return [[*begin, *mark[-1:].tolist() * rank, END] for rank in range(count)]

    def warm_up(self):
        """Does nothing, so that `calls` has only those of requests."""

    def log_p(self, source, target):
        self.wait("log_p", [], len(source))
        return np.full(target.shape, np.log(0.5), "float32")

    def attention(self, source, target):
        self.wait("attention", [], len(source))
        return np.tile(np.eye(target.shape[1], source.shape[1]), (len(source), 1, 1))

    @property
    def attention_sizes(self):
        return dict.fromkeys(("encoder", "decoder", "cross"), (LAYERS, HEADS))

    def all_attention(self, source, target):
        self.wait("all_attention", [], 1)
        read, written = len(source), len(target)
        sizes = {"encoder": (read, read), "decoder": (written, written), "cross": (written, read)}
        ones = {kind: np.eye(*size, dtype="float32") for kind, size in sizes.items()}
        return {kind: np.tile(each, (LAYERS, HEADS, 1, 1)) for kind, each in ones.items()}


class Lacking(EchoEngine):
    """An engine that can search for no phrases and align no words."""

    offers, has_attention = ("beam",), False

    def check(self, config, prefix, phrases):
        if phrases:
            raise ValueError("no phrases")


class Client:
    """Requests predictions from a model, in this process and without HTTP.

    Args:
        engine: the model's engine.
        split, glossary: of `Answering` and of `ServedModel`.
        **limits: those of `Limits`.
    """

    def __init__(self, engine, split=None, glossary=None, **limits):
        limits = Limits(**limits)
        self.batcher = Batcher(limits, Metrics())
        self.version = Version(1, ServedModel(engine, glossary=glossary))
        self.answering = Answering(None, limits, self.batcher, tuple, split)
        self.api = TensorFlowServing(self.answering)

    async def __call__(self, *rows, signature=OPTIONS, client="a", connection=None):
        """Returns the predictions for rows. Without a connection, one of `client` is made up."""
        connection = connection or SimpleNamespace(client=client, hold=lambda size: None)
        query = signature, "instances", [*rows]
        with self.version.in_use() as version:
            return json.loads(await self.api.predicted(*query, version.model, connection))[
                "predictions"
            ]

    async def close(self):
        """Waits until no row is in flight and nothing runs in a thread."""
        async with asyncio.timeout(30):
            while self.batcher.rows or self.batcher.running or self.answering.turns:
                await asyncio.sleep(0.002)


def predictions(*rows, engine=None, signature=OPTIONS, **settings):
    """Returns the predictions of a `Client` for one request."""

    async def ask():
        client = Client(engine or EchoEngine(), **settings)
        try:
            return await client(*rows, signature=signature)
        finally:
            await client.close()

    return asyncio.run(ask())
