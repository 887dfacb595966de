"""Requests with wishes that a model's signatures fulfil only together, such as glossaries.

A function from outside fulfils them in a thread. It calls the signatures through their batchers, so
all limits hold, and its rows share batches with those of other requests.
"""

import asyncio
import collections
import concurrent.futures
import threading

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import tensor_info
from t2t_keras.serving.tensors import Spec

LONGEST_GLOSSARY = 1_000_000  # bytes; the limit on a request's body applies, too
# The inputs that a signature gets by wishes. Without one of them, a request takes the shorter way.
WISHES = {
    "glossary": Spec("string", (None,), "", LONGEST_GLOSSARY),
    "markup": Spec("string", (None,), ""),
    "alignments": Spec("bool", (None,), False),
    "confidence": Spec("bool", (None,), False),
}
AT_ONCE = 8  # requests with wishes that are fulfilled at the same time
WAITING = 64  # requests with wishes in flight, of all clients
WAITING_OF_CLIENT = 16


def with_wishes(definition):
    """Returns the metadata of a signature with the inputs and outputs that wishes add."""
    outputs = definition["outputs"]
    words = dict.fromkeys(("alignments", "confidence", "words"), outputs["translations"])
    words["source_words"] = tensor_info("source_words", Spec("string", (None,)))
    inputs = {name: tensor_info(name, spec) for name, spec in WISHES.items()}
    defaults = {name: spec.default for name, spec in WISHES.items()}
    return definition | {
        "inputs": definition["inputs"] | inputs,
        "outputs": outputs | words,
        "defaults": definition["defaults"] | defaults,
    }


def has_wishes(inputs):
    """Returns whether any row of a request has a wish, given the arrays by name."""
    return any(any(inputs[name].tolist()) for name in WISHES)


class WishThreads:
    """The threads in which wishes are fulfilled."""

    def __init__(self):
        self.threads = concurrent.futures.ThreadPoolExecutor(AT_ONCE, thread_name_prefix="wishes")
        self.waiting = collections.Counter()  # requests in flight, by client

    async def __call__(self, fulfil, inputs, batchers, connection, divide):
        """Returns the outputs for a request.

        Args:
            fulfil: function from `inputs`, a function that calls a signature, and `divide` to the
                outputs. It raises `ValueError` for mistakes of the client, with their row.
            inputs: arrays by name, with the wishes.
            batchers: the batchers of the version, by signature.
            connection: the `Connection` of the request.
            divide: see `Predictor.divided`.
        """
        client = connection.client
        if self.waiting.total() >= WAITING or self.waiting[client] >= WAITING_OF_CLIENT:
            raise Refusal(429, "Too many requests with wishes are waiting. Try again in a moment")
        loop, calls = asyncio.get_running_loop(), Calls(batchers, connection)
        self.waiting[client] += 1
        try:
            return await loop.run_in_executor(self.threads, fulfil, inputs, calls, divide)
        except ValueError as error:
            raise Refusal(400, str(error)) from error
        finally:
            calls.stop()
            self.waiting -= {client: 1}


class Calls:
    """Calls signatures from a thread, until the request is answered or its client disconnects.

    Args:
        batchers, connection: see `WishThreads`.
    """

    def __init__(self, batchers, connection):
        self.batchers, self.connection = batchers, connection
        self.loop, self.lock = asyncio.get_running_loop(), threading.Lock()
        self.stopped, self.newest = False, None

    def __call__(self, name, inputs):
        with self.lock:
            if self.stopped:
                raise concurrent.futures.CancelledError
            coroutine = self.batchers[name](inputs, self.connection)
            self.newest = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        return self.newest.result()

    def stop(self):
        with self.lock:
            self.stopped = True
            if self.newest is not None:
                self.newest.cancel()
