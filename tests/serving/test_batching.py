"""Calls of several requests share batches without affecting each other's answers."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.serving.served_engine import Client, EchoEngine, predictions

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.serving.batching import Batcher, Workers, bytes_of, widths
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.metrics import Metrics
from t2t_keras.translating.calls import BATCH_TOKENS, Call


class Targets(EchoEngine):
    """An engine whose log P of a token is the token itself. It records the rows of its batches."""

    def __init__(self, compute=lambda target: None):
        super().__init__()
        self.compute, self.rows = compute, []

    def log_p(self, source, target):
        self.rows.append(len(target))
        self.compute(target)
        return target


def answers(*requests, engine, clients=None, **limits):
    """Sends calls for log P at the same time, and returns their results or errors.

    Args:
        requests: the target ids of each row of each request.
        engine: a `Targets`.
        clients: the client of each request.
        **limits: those of `Limits`.
    """
    limits = Limits(**{"workers": 1, "batch_wait_ms": 10, **limits})
    clients = clients or "a" * len(requests)

    async def send():
        workers = Workers(limits, Metrics())
        calls = [Call(engine, "log_p", {"source": rows, "target": rows}) for rows in requests]
        batcher = Batcher(calls[0], workers)

        async def ask(call, client):
            with workers.admitted(len(call.columns["source"]), client):
                return await batcher(call, SimpleNamespace(client=client, hold=lambda size: None))

        results = await asyncio.gather(*map(ask, calls, clients), return_exceptions=True)
        assert workers.rows == 0
        batcher.close()
        return results

    return [
        [row.tolist() for row in each] if isinstance(each, list) else each
        for each in asyncio.run(send())
    ]


def test_a_call_with_many_rows_is_computed_in_parts_and_keeps_its_order():
    engine, rows = Targets(), [[n] * (n * 37 % 40 + 1) for n in range(100)]
    assert answers(rows, engine=engine, batch_wait_ms=0) == [rows]
    assert max(engine.rows) == 32 and sum(engine.rows) == 100


@pytest.mark.parametrize("limits", [{}, {"max_answer_values": 2100}])
def test_batches_of_long_rows_or_large_answers_are_small(limits):
    engine = Targets()
    answers([[1] * 500] * 9, engine=engine, batch_wait_ms=0, **limits)
    assert engine.rows == [4, 4, 1]


def test_large_requests_and_clients_with_many_requests_leave_room_for_others():
    def statuses(*requests, **options):
        found = answers(*requests, engine=Targets(), **options)
        return [getattr(each, "status", 200) for each in found], found

    requests = [[1]] * 8, [[2]] * 5, [[3]] * 4
    assert statuses(*requests, clients="abc", max_rows_in_flight=16)[0] == [200, 429, 200]
    clients = {"clients": "a" * 99 + "b", "max_rows_in_flight": 50}
    found, results = statuses(*[[[1]]] * 99, [[2]], **clients)
    assert found == [200] * 40 + [429] * 59 + [200]
    assert "from this address" in results[50].message


def test_a_small_request_does_not_wait_for_many_rows_of_a_different_client():
    for clients, expected in (("abc", [5, 9]), ("aaa", [14])):
        engine = Targets()
        answers([[1]], [[2]] * 4, [[3]] * 9, engine=engine, clients=clients)
        assert engine.rows == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_a_client_never_has_all_workers(workers):
    go, others = threading.Event(), []

    def compute(target):
        if target[0, 0] == 1:
            assert go.wait(10), "the other clients wait"
        else:
            others.append(target[0, 0])
            if len(others) == 2:
                go.set()

    requests = *[[[1]]] * 4, [[2]], [[3]]
    options = {"workers": workers, "max_batch_rows": 1}
    found = answers(*requests, engine=Targets(compute), clients="aaaabc", **options)
    assert found == [*requests]


def test_a_request_that_fails_leaves_the_others_of_its_batch_alone(caplog):
    error = ValueError("bad row")

    def fail_at_5(target):
        if (target == 5).any():
            raise error

    engine, requests = Targets(fail_at_5), [[[n]] for n in range(1, 13)]
    found = answers(*requests, engine=engine)
    assert found.pop(4) is error
    assert found == requests[:4] + requests[5:]
    assert engine.rows == [12] + [1] * 12
    assert "The engine failed in log_p" in caplog.text


def batches(*rows, full):
    """Returns the batches for requests of one row each, sent at once by two clients in turn.

    Args:
        full: rows of a batch that does not wait for more rows.
    """
    engine = EchoEngine()

    async def ask():
        client = Client(engine, batch_wait_ms=60_000, max_batch_rows=full)
        async with asyncio.timeout(20):
            await asyncio.gather(*(client(row, client="ab"[n % 2]) for n, row in enumerate(rows)))
        await client.close()
        return client.workers.metrics.registry

    metrics = asyncio.run(ask())
    for name in {method for method, _, _ in engine.calls}:
        counted = metrics.get_sample_value("t2t_batch_rows_sum", {"signature": name})
        assert counted == sum(rows for method, _, rows in engine.calls if method == name)
    return sorted(engine.calls)


PLAIN, PHRASES, PREFIX = {"text": "dog"}, {"text": "dog", "require": "Hund"}, {"prefix": "Ein"}
WORDS = {"text": "The dog sleeps.", "confidence": True, "alignments": True}
UNUSED = {"text": "dog", "glossary": "cat\tKatze"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [{"text": "a", "alpha": n / 4, "beam": n + 1, "n_best": n % 2 + 1} for n in range(3)],
            [("search", ["alpha", "beam", "n_best"], 3)],
        ),
        ([{"text": "One dog. Two dogs."}, {"text": "b. c.", "split": False}], [("search", [], 3)]),
        ([WORDS] * 3, [("attention", [], 3), ("log_p", [], 3), ("search", [], 3)]),
        (  # a row with phrases is not in a batch of plain rows, whose search is faster
            [PLAIN, PHRASES, PLAIN | PREFIX] * 2 + [UNUSED, PHRASES, PLAIN | PREFIX],
            [("search", [], 3), ("search", ["phrases"], 3), ("search", ["prefix"], 3)],
        ),
    ],
)
def test_rows_of_several_requests_share_batches(rows, expected):
    assert batches(*rows, full=3) == expected


def test_the_room_of_a_batch_is_that_of_its_method():
    engine, row = EchoEngine(), {"text": "x" * 240, "confidence": True}
    predictions(*[row] * 20, engine=engine)
    width = engine.sources[0].shape[1]
    for method, room in {"search": engine.batch_tokens, "log_p": BATCH_TOKENS["log_p"]}.items():
        sizes = [rows for name, _, rows in engine.calls if name == method]
        assert max(sizes) == room // width < 20 == sum(sizes), method


@pytest.mark.parametrize(
    ("method", "values"),
    [("search", 40), ("log_p", 10), ("attention", 100), ("all_attention", 1800)],
)
def test_batches_are_bounded_by_an_estimate_of_their_results(method, values):
    async def estimate():
        batcher = Batcher(Call(EchoEngine(), method, {}), Workers(Limits(), Metrics()))
        batcher.close()
        return batcher.values(10)

    assert asyncio.run(estimate()) == values


def test_phrases_count_in_the_width_of_a_row_and_results_as_memory():
    columns = {"source": [[3, 2], [3, 3, 2]], "phrases": [[[4], [5, 6]], []]}
    assert widths(Call(None, "search", columns)) == {0: 5, 1: 3}
    assert bytes_of(np.zeros(5, "float32")) == bytes_of({"cross": np.zeros(5, "float32")}) == 20
    assert bytes_of(Hypotheses(np.zeros((2, 3), "int32"), np.zeros(2, "float32"))) == 32
