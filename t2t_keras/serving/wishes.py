"""Requests with wishes that a model's signatures fulfil only together, such as glossaries.

A function from outside fulfils them in a thread. It calls the signatures through their batchers, so
all limits hold, and its rows share batches with those of other requests.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import threading

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import tensor_info
from t2t_keras.serving.tensors import Spec
from t2t_keras.serving.turns import Turns, Workplaces

LONGEST_GLOSSARY = 1_000_000  # bytes; the limit on a request's body applies, too
# The inputs that a signature gets by wishes. Without one of them, a request takes the shorter way.
WISHES = {
    "glossary": Spec("string", (None,), "", LONGEST_GLOSSARY),
    "markup": Spec("string", (None,), ""),
    "alignments": Spec("bool", (None,), False),
    "confidence": Spec("bool", (None,), False),
}
AT_ONCE = 2  # requests with wishes whose Python code runs at the same time
WAITING = 128  # requests with wishes in flight, of all clients
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
    """The threads in which wishes are fulfilled, one for each request in flight.

    Python code of one thread holds up the others, so few of them run at the same time, and clients
    take turns. A turn ends when a signature is called.
    """

    def __init__(self):
        self.threads = concurrent.futures.ThreadPoolExecutor(WAITING, thread_name_prefix="wishes")
        self.waiting = collections.Counter()  # requests in flight, by client
        self.turns, self.places = Turns(), Workplaces(AT_ONCE)

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
        # The fuller, the less a client may have: there is always room for one more client.
        most = min(WAITING_OF_CLIENT, WAITING - self.waiting.total() - 1)
        if self.waiting[client] >= most:
            raise Refusal(429, "Too many requests with wishes are waiting. Try again in a moment")
        calls, work = Calls(batchers, connection, self), None
        self.waiting[client] += 1
        try:
            await calls.begin()
            work = self.threads.submit(fulfil, inputs, calls, divide)
            return await asyncio.wrap_future(work)
        except ValueError as error:
            raise Refusal(400, str(error)) from error
        finally:
            calls.stop()
            if work is None or work.done():
                self.ended(calls)
            else:  # the client has disconnected; Python code runs on to the next call
                work.add_done_callback(lambda _: calls.soon(self.ended, calls))

    def ended(self, calls):
        """Frees the place of a request whose thread has ended."""
        calls.end()
        self.waiting -= {calls.client: 1}

    def start(self):
        """Starts the next requests in the free places."""
        while request := self.turns.first(self.places):
            self.turns.pop(request)
            if not (request.stopped or request.turn.done()):  # else its client has disconnected
                self.places.take([request.client])
                request.runs = True
                request.turn.set_result(None)


class Calls:
    """Calls signatures from a thread, until the request is answered or its client disconnects.

    Args:
        batchers, connection: see `WishThreads`.
        threads: the `WishThreads`.
    """

    rows = 1  # for `Turns`

    def __init__(self, batchers, connection, threads):
        self.batchers, self.connection, self.threads = batchers, connection, threads
        self.client = connection.client
        self.loop, self.lock = asyncio.get_running_loop(), threading.Lock()
        self.stopped, self.newest = False, None
        self.runs, self.turn = False, None

    def __call__(self, name, inputs):
        with self.lock:
            if self.stopped:
                raise concurrent.futures.CancelledError
            self.newest = asyncio.run_coroutine_threadsafe(self.called(name, inputs), self.loop)
        return self.newest.result()

    async def called(self, name, inputs):
        """Returns the outputs of a signature, at the request's next turn."""
        self.end()
        try:
            return await self.batchers[name](inputs, self.connection)
        finally:
            if not self.stopped:
                await self.begin()

    async def begin(self):
        """Waits for the request's turn."""
        self.turn = self.loop.create_future()
        self.threads.turns.append(self)
        self.threads.start()
        await self.turn

    def end(self):
        """Ends the request's turn."""
        if self.runs:
            self.runs = False
            self.threads.places.give_back([self.client])
            self.threads.start()

    def stop(self):
        with self.lock:
            self.stopped = True
            if self.newest is not None:
                self.newest.cancel()

    def soon(self, function, *arguments):
        """Calls a function in the thread of the event loop, unless the server has ended."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *arguments)
