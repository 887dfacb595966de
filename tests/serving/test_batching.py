"""Calls of several requests share batches without affecting each other's answers."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.serving.served_engine import Client, EchoEngine, predictions

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.serving.batching import Batcher, Job, bytes_of, widths
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
        batcher = Batcher(limits, Metrics())
        calls = [Call(engine, "log_p", {"source": rows, "target": rows}) for rows in requests]

        async def ask(call, client):
            connection = SimpleNamespace(client=client, hold=lambda size: None)
            with batcher.admitted(len(call.columns["source"]), client):
                return await batcher(call, None, connection)

        results = await asyncio.gather(*map(ask, calls, clients), return_exceptions=True)
        assert batcher.rows == 0
        return results

    return [
        [row.tolist() for row in each] if isinstance(each, list) else each
        for each in asyncio.run(send())
    ]


def test_a_call_with_many_rows_is_computed_in_parts_and_keeps_its_order():
    engine, rows = Targets(), [[n] * (n * 37 % 40 + 1) for n in range(100)]
    assert answers(rows, engine=engine, batch_wait_ms=0) == [rows]
    assert max(engine.rows) == 32 and sum(engine.rows) == 100


def test_batches_of_long_rows_are_small():
    engine = Targets()
    answers([[1] * 500] * 9, engine=engine, batch_wait_ms=0)
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
    assert answers(*requests, engine=Targets(compute), clients="aaaabc", **options) == [*requests]


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
        return client.batcher.metrics.registry

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
        ([{"text": "a", "alpha": 1.0, "n_best": 2}] * 3, [("search", [], 3)]),
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


def test_phrases_count_in_the_width_of_a_row_and_results_as_memory():
    columns = {"source": [[3, 2], [3, 3, 2]], "phrases": [[[4], [5, 6]], []]}
    assert widths(Call(None, "search", columns)) == [5, 3]
    assert bytes_of(np.zeros(5, "float32")) == bytes_of({"cross": np.zeros(5, "float32")}) == 20
    assert bytes_of(Hypotheses(np.zeros((2, 3), "int32"), np.zeros(2, "float32"))) == 32


def order(batcher, jobs, most=99):
    """Returns the clients of waiting jobs in the order in which batches of one row are computed.

    Args:
        jobs: (client, rows) of each job, in order of arrival.
    """

    async def taken():
        for client, rows in jobs:
            batcher.add(Job(Call(EchoEngine(), "log_p", {"source": [[1]] * rows}), "k", client, 1))
        clients = []
        while len(clients) < most and batcher.free and (batch := batcher.next_batch()):
            clients += [job.client for job in batch]
            batcher.free -= 1
            batcher.works_for.update(clients[-1])
        return "".join(clients)

    batcher.start = lambda: None
    return asyncio.run(taken())


def queue(places):
    return Batcher(Limits(max_batch_rows=1, batch_wait_ms=0, workers=places - 1), Metrics())


def test_clients_take_turns_and_small_jobs_are_before_large_ones():
    assert order(queue(10), [(client, 1) for client in "aaabbc"]) == "abcaba"
    batcher = queue(99)
    assert order(batcher, [(client, 30) for client in "aaabbb"], most=2) == "ab"
    assert order(batcher, [("c", 1), ("c", 1)]) == "cabcab"


def test_a_client_that_returns_has_no_advantage_and_no_disadvantage():
    batcher = queue(99)
    batcher.order = lambda job: job.turn
    order(batcher, [("a", 1)] * 50, most=48)
    assert order(batcher, [("b", 1)]) == "aba", "as if b had had 48 rows"


def test_the_last_place_is_for_a_client_that_has_none():
    batcher = queue(3)
    assert order(batcher, [("a", 1)] * 4) == "aa"
    assert order(batcher, [("b", 1)]) == "b"
