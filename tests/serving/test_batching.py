"""Requests share batches without affecting each other's answers."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from t2t_keras.serving.batching import Batcher, Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.signatures import ServedSignature
from t2t_keras.serving.tensors import Spec


def first_column(x):
    return {"y": x[:, 0]}


def answers(*requests, compute=first_column, batchable=True, clients=None, shape=(None,), **limits):
    """Sends requests at the same time.

    Args:
        requests: the rows of the input `x` of each request, bytes or numbers.
        compute: function from the array `x` of a batch to its outputs.
        clients: the client of each request.
        shape: the shape of the output `y`.

    Returns:
        A namespace with the `results` or errors of the requests, the rows of all `batches`, and the
        bytes that the requests `held`.
    """
    batches, held = [], []
    clients = clients or ["a"] * len(requests)
    arrays = [np.array(rows) for rows in requests]
    arrays = [x.astype(object if x.dtype.kind == "S" else "int32") for x in arrays]
    inputs = {"x": Spec("string" if arrays[0].dtype == object else "int32", (None, None))}

    def run(given):
        batches.append(len(given["x"]))
        return compute(given["x"])

    signature = ServedSignature("s", inputs, {"y": Spec("float32", shape)}, batchable, run)

    async def send():
        settings = Limits(**{"workers": 1, "batch_wait_ms": 10, **limits})
        batcher = Batcher(signature, Workers(settings, Metrics()))
        results = await asyncio.gather(
            *(
                batcher({"x": x}, SimpleNamespace(client=client, hold=held.append))
                for x, client in zip(arrays, clients, strict=True)
            ),
            return_exceptions=True,
        )
        assert batcher.workers.rows == 0
        batcher.close()
        return results

    return SimpleNamespace(results=asyncio.run(send()), batches=batches, held=sum(held))


def values(found):
    return [each["y"].tolist() for each in found.results]


def statuses(found):
    return [getattr(each, "status", 200) for each in found.results]


def test_requests_share_a_batch_if_rows_have_the_same_shape_and_the_signature_allows_it():
    found = answers([[1, 1], [2, 2]], [[3, 3]], [[4, 4, 4]], [[5, 5]])
    assert values(found) == [[1, 2], [3], [4], [5]]
    assert found.batches == [3, 1, 1], "the third request ends the first batch"
    assert answers([[1], [2]], [[3]], batchable=False).batches == [2, 1]


def test_a_request_of_many_rows_is_computed_in_parts_and_keeps_its_order():
    texts = [f"{n} {'b' * (n * 37 % 400)}".encode() for n in range(100)]
    found = answers(texts, compute=lambda x: {"y": x}, batch_wait_ms=0)
    assert values(found) == [texts]
    assert max(found.batches) == 32 and sum(found.batches) == 100
    assert found.held == 2 * sum(map(len, texts)) + 100 * 100


@pytest.mark.parametrize(
    ("rows", "shape", "expected"),
    [
        ([b"x" * 4000] * 9, (None,), [4, 4, 1]),  # bytes of texts
        ([[0] * 1024] * 9, (None,), [4, 4, 1]),  # values
        ([b"x" * 48] * 8, (None, 2, None, None), [3, 3, 2]),  # each answer: 2 × 50 × 50 values
    ],
)
def test_batches_of_long_rows_or_large_answers_are_small(rows, shape, expected):
    found = answers(
        rows,
        compute=lambda x: {"y": np.zeros(len(x))},
        shape=shape,
        batch_wait_ms=0,
        max_answer_values=15_000,
    )
    assert found.batches == expected


def test_parts_with_answers_of_different_shapes_are_padded():
    def as_wide_as_the_batch(x):
        return {"y": x[:, :1] * np.ones((1, len(x)), int)}

    found = answers([[1], [2], [3]], compute=as_wide_as_the_batch, max_batch_rows=2)
    assert values(found) == [[[1, 1], [2, 2], [3, 0]]]


def test_large_requests_and_clients_with_many_requests_leave_room_for_others():
    requests = [[1]] * 8, [[2]] * 5, [[3]] * 4
    assert statuses(answers(*requests, clients="abc", max_rows_in_flight=16)) == [200, 429, 200]
    found = answers(*[[[1]]] * 99, [[2]], clients="a" * 99 + "b", max_rows_in_flight=50)
    assert statuses(found) == [200] * 40 + [429] * 59 + [200]
    assert "from this address" in found.results[50].message


def test_a_small_request_does_not_wait_for_many_rows_of_a_different_client():
    requests = [[1]], [[2]] * 4, [[3]] * 9
    assert answers(*requests, clients="abc").batches == [5, 9]
    assert answers(*requests, clients="aaa").batches == [14]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_client_never_has_all_workers(workers):
    go, others = threading.Event(), []

    def compute(x):
        if x[0, 0] == 1:
            assert go.wait(10), "the other clients wait"
        else:
            others.append(x[0, 0])
            if len(others) == 2:
                go.set()
        return first_column(x)

    found = answers(
        *[[[1]]] * 4,
        *([[2]], [[3]]),
        compute=compute,
        clients="aaaabc",
        workers=workers,
        batchable=False,
    )
    assert values(found) == [[1]] * 4 + [[2], [3]]


def test_answers_that_are_too_large_are_refused_before_or_while_they_are_computed():
    limits = {"shape": (None, None, None), "max_memory_mb": 3}
    found = answers([[b"x" * 998]], **limits)
    assert (statuses(found), found.batches) == ([413], [])
    assert "may need 4 MB; at most 3 are allowed" in found.results[0].message
    assert statuses(answers([[b"x" * 800]], **limits)) == [200]

    def wide(x):
        return {"y": np.zeros((len(x), 100))}

    limits = {"compute": wide, "max_batch_rows": 2, "max_answer_values": 400}
    found = answers([[1]] * 10, **limits)
    assert (statuses(found), found.batches) == ([413], [2, 2, 2])
    assert found.held == 2 * 200 * 20
    assert statuses(answers([[1]] * 4, **limits)) == [200]


@pytest.mark.parametrize("error", [ValueError("bad row"), Refusal(400, "bad row")])
def test_a_request_that_fails_leaves_the_others_of_its_batch_alone(error, caplog):
    def fail_at_5(x):
        if (x == 5).any():
            raise error
        return first_column(x)

    found = answers(*([[n]] for n in range(12)), compute=fail_at_5)
    assert found.results.pop(5) is error
    assert values(found) == [[n] for n in range(12) if n != 5]
    assert found.batches == [12] + [1] * 12
    assert ("Signature s failed" in caplog.text) == isinstance(error, ValueError)
