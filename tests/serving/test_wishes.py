"""Wishes are fulfilled in threads that call signatures through their batchers."""

import asyncio
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from pipelines.sentences import split_sentences
from t2t_keras.export.signature_constants import OPTIONS
from t2t_keras.serving import wishes
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.predictor import Predictor
from t2t_keras.serving.rest import Query
from t2t_keras.serving.signatures import Signature
from t2t_keras.serving.tensors import Spec

TEXT = Spec("string", (None,))
INPUTS = {
    "text": TEXT,
    "split": Spec("bool", (None,), True),
    "beam": Spec("int32", (None,), 4),
    "n_best": Spec("int32", (None,), 1),
    "alpha": Spec("float32", (None,), 0.5),
}
OUTPUTS = {"translations": Spec("string", (None, 1)), "scores": Spec("float32", (None, 1))}


class Batcher:
    """Counts the characters of texts. The text "refuse" is refused, "wait" is never answered."""

    def __init__(self):
        self.signature = Signature(OPTIONS, INPUTS, OUTPUTS, True, None)
        self.waiting = asyncio.Event()

    async def __call__(self, inputs, connection):
        texts = inputs["text"].tolist()
        if b"refuse" in texts:
            raise Refusal(429, "too many")
        if b"wait" in texts:
            self.waiting.set()
            await asyncio.Event().wait()
        lengths = [[str(len(text)).encode()] for text in texts]
        return {"translations": np.array(lengths, object), "scores": np.zeros((len(texts), 1))}


def fulfil(inputs, call, divide):
    """Translates the markup of each text instead of its sentences; the glossary is the error."""
    if inputs["glossary"][0]:
        raise ValueError(f"wrong glossary: {inputs['glossary'][0].decode()}")
    for text, split in zip(inputs["text"], inputs["split"], strict=True):
        divide(text.decode(), split)
    assert threading.current_thread() is not threading.main_thread()
    return call(OPTIONS, {"text": inputs["markup"]})


def answer(*rows, client="a", function=fulfil, **limits):
    """Returns the predictions for rows, or the refusal."""

    async def ask():
        version = SimpleNamespace(batchers={OPTIONS: Batcher()}, wishes=function, split_code=None)
        predictor = Predictor(Limits(**limits), split_sentences)
        query = Query(OPTIONS, "instances", [*rows])
        connection = SimpleNamespace(client=client, hold=lambda size: None)
        return json.loads(await predictor(query, version, connection))["predictions"]

    return asyncio.run(ask())


def refusal(*rows, **options):
    with pytest.raises(Refusal) as error:
        answer(*rows, **options)
    return error.value.status, error.value.message


def test_only_requests_with_a_wish_take_the_longer_way():
    def translations(*rows):
        return [row["translations"] for row in answer(*rows)]

    assert translations({"text": "abc"}) == [["3"]]
    assert translations({"text": "abc", "markup": "", "alignments": False}) == [["3"]]
    assert translations({"text": "abc", "markup": "xml"}, {"text": "d"}) == [["3"], ["0"]]
    assert translations({"text": "abc", "confidence": True}) == [["0"]]


def test_a_model_that_fulfils_no_wishes_does_not_know_them():
    status, message = refusal({"text": "a", "markup": "xml"}, function=None)
    assert status == 400 and "unknown input 'markup'" in message


def test_mistakes_of_the_client_are_refused():
    assert refusal({"text": "a", "glossary": "x"}) == (400, "wrong glossary: x")
    assert refusal({"text": "a", "markup": "refuse"}) == (429, "too many")
    status, message = refusal({"text": "a", "alignments": True, "beam": 5})
    assert (status, message) == (400, "`beam` must be from 1 to 4. Received: 5")


def test_sentences_of_texts_with_wishes_are_limited():
    row = {"text": "A dog. " * 3, "alignments": True}
    assert answer(row, {**row, "split": False}, queue=8)
    status, message = refusal(row, {**row, "split": False}, queue=6)
    assert status == 413 and "have 4 sentences; at most 3 are allowed" in message


def test_a_glossary_may_be_longer_than_a_text():
    long = "x" * 5000
    assert refusal({"text": "a", "glossary": long})[1].endswith(long)
    assert refusal({"text": long, "alignments": True})[0] == 413


def test_a_thread_ends_when_the_client_disconnects_and_calls_nothing_more():
    ended, errors = threading.Event(), []

    def calls_twice(inputs, call, divide):
        for text in (b"wait", b"more"):
            try:
                call(OPTIONS, {"text": np.array([text], object)})
            except BaseException as error:
                errors.append(type(error).__name__)
        ended.set()

    async def disconnect():
        threads, batcher = wishes.WishThreads(), Batcher()
        connection = SimpleNamespace(client="a")
        request = asyncio.create_task(
            threads(calls_twice, {}, {OPTIONS: batcher}, connection, None)
        )
        await batcher.waiting.wait()
        assert threads.waiting == {"a": 1}
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert await asyncio.to_thread(ended.wait, 10)
        while threads.waiting:  # the callback of the thread comes a moment later
            await asyncio.sleep(0.01)
        return threads.waiting

    assert not asyncio.run(disconnect())
    assert errors == ["CancelledError"] * 2


async def statuses(clients, function=lambda client: 200, threads=None):
    """Returns the result of a function, or the status of its refusal, for a request of each."""
    threads = threads or wishes.WishThreads()

    async def ask(client):
        try:
            connection = SimpleNamespace(client=client)
            return await threads(lambda *_: function(client), {}, {}, connection, None)
        except Refusal as refusal:
            return refusal.status

    return await asyncio.gather(*map(ask, clients))


def test_requests_in_flight_are_limited_and_leave_room_for_more_clients(monkeypatch):
    monkeypatch.setattr(wishes, "WAITING", 8)
    monkeypatch.setattr(wishes, "WAITING_OF_CLIENT", 3)
    found = asyncio.run(statuses("aaaabbbccd"))
    assert found == [200, 200, 200, 429, 200, 200, 429, 200, 429, 200]


def test_a_client_whose_requests_are_being_fulfilled_delays_no_other_client():
    go = threading.Event()

    def waits(client):
        return go.wait(30) if client == "a" else "answered"

    async def ask():
        threads = wishes.WishThreads()
        of_a = asyncio.create_task(statuses("a" * wishes.WAITING_OF_CLIENT, waits, threads))
        await asyncio.sleep(0.1)
        async with asyncio.timeout(10):
            of_others = [await statuses(client, waits, threads) for client in "bcd"]
        go.set()
        return of_others, await of_a

    of_others, of_a = asyncio.run(ask())
    assert of_others == [["answered"]] * 3
    assert of_a == [True] * wishes.WAITING_OF_CLIENT


def test_places_are_free_again_when_clients_disconnect_at_any_time():
    async def disconnect():
        threads, batcher = wishes.WishThreads(), Batcher()
        arguments = {}, {OPTIONS: batcher}, SimpleNamespace(client="a"), None

        def waits(inputs, call, divide):
            return call(OPTIONS, {"text": np.array([b"wait"], object)})

        for pause in (0, 0, 0.001, 0.01, 0.05):
            requests = [asyncio.create_task(threads(waits, *arguments)) for _ in range(8)]
            await asyncio.sleep(pause)
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
        while threads.waiting:  # callbacks of threads come a moment later
            await asyncio.sleep(0.01)
        return threads.places.free, threads.places.works_for, threads.waiting

    assert asyncio.run(disconnect()) == (wishes.AT_ONCE, {}, {})


def test_the_place_of_a_client_that_disconnects_is_taken_until_its_thread_ends():
    """Otherwise such clients would have any number of threads at once."""
    started, finish = threading.Event(), threading.Event()

    def computes(inputs, call, divide):
        started.set()
        assert finish.wait(10)

    async def disconnect():
        threads = wishes.WishThreads()
        arguments = {}, {}, SimpleNamespace(client="a"), None
        request = asyncio.create_task(threads(computes, *arguments))
        assert await asyncio.to_thread(started.wait, 10)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        during = threads.places.free, dict(threads.waiting)
        finish.set()
        while threads.waiting:
            await asyncio.sleep(0.01)
        return during, threads.places.free

    assert asyncio.run(disconnect()) == ((wishes.AT_ONCE - 1, {"a": 1}), wishes.AT_ONCE)
