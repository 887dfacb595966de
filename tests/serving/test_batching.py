"""Requests share batches without affecting each other's answers."""

import asyncio
import threading

import numpy as np
import pytest

from t2t_keras.serving.batching import Batcher, Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.signatures import ServedSignature
from t2t_keras.serving.tensors import Spec


class FakeConnection:
    """A connection that counts what it holds.

    Args:
        client: key of the client.
    """

    def __init__(self, client="a"):
        self.client, self.held = client, 0

    def hold(self, size):
        self.held += size


def answers(
    compute, *requests, dtype="int32", batchable=True, clients=None, shape=(None,), **limits
):
    """Sends requests at the same time; returns their answers and the rows of each batch.

    Args:
        compute: function from the array `x` of a batch to its outputs.
        requests: for each request the rows of `x`.
        clients: the client of each request.
        shape: the shape of the output.
    """
    batches = []

    class Counting(ServedSignature):
        def run(self, inputs):
            batches.append(len(inputs["x"]))
            return compute(inputs["x"])

    kind = "string" if dtype is object else dtype
    outputs = {"y": Spec("float32", shape)}
    signature = Counting("s", {"x": Spec(kind, (None, None))}, outputs, batchable, None)
    clients = clients or ["a"] * len(requests)

    async def send():
        settings = Limits(**{"workers": 1, "batch_wait_ms": 50, **limits})
        batcher = Batcher(signature, Workers(settings, Metrics()))
        rows = (np.array(request, dtype) for request in requests)
        results = await asyncio.gather(
            *(
                batcher({"x": each}, FakeConnection(client))
                for each, client in zip(rows, clients, strict=True)
            ),
            return_exceptions=True,
        )
        batcher.close()
        return results

    return asyncio.run(send()), batches


def first_column(x):
    return {"y": x[:, 0]}


def test_requests_share_a_batch_if_their_rows_have_the_same_shape():
    results, batches = answers(
        first_column, [[1, 1], [2, 2]], [[3, 3]], [[4, 4, 4]], [[5, 5]], batch_wait_ms=10
    )
    assert [each["y"].tolist() for each in results] == [[1, 2], [3], [4], [5]]
    assert batches == [3, 1, 1]


def test_requests_for_a_signature_that_is_not_batchable_are_computed_alone():
    results, batches = answers(first_column, [[1], [2]], [[3]], batchable=False)
    assert [each["y"].tolist() for each in results] == [[1, 2], [3]]
    assert batches == [2, 1]


def test_a_request_of_many_rows_is_computed_in_parts_and_keeps_its_order():
    texts = [f"{n} {'b' * (n * 37 % 400)}".encode() for n in range(100)]
    results, batches = answers(lambda x: {"y": x}, texts, dtype=object, batch_wait_ms=0)
    assert results[0]["y"].tolist() == texts
    assert max(batches) == 32 and sum(batches) == 100


def test_long_rows_make_batches_smaller():
    texts = [b"x" * 4000] * 8
    _, batches = answers(lambda x: {"y": x}, texts, dtype=object, batch_wait_ms=0)
    assert batches == [4, 4]


def test_parts_with_answers_of_different_shapes_are_padded():
    def as_wide_as_the_batch(x):
        return {"y": x[:, :1] * np.ones((1, len(x)), int)}

    results, batches = answers(
        as_wide_as_the_batch, [[1], [2], [3]], batchable=False, max_batch_rows=2
    )
    assert results[0]["y"].tolist() == [[1, 1], [2, 2], [3, 0]]
    assert batches == [2, 1]


def test_a_request_may_take_half_of_the_free_queue():
    results, batches = answers(
        first_column,
        [[1]] * 8,
        [[2]] * 5,
        [[3]] * 4,
        clients=["a", "b", "c"],
        max_rows_in_flight=16,
        batch_wait_ms=10,
    )
    assert [getattr(each, "status", 200) for each in results] == [200, 429, 200]
    assert batches == [12]


def test_a_client_with_many_requests_leaves_room_for_others():
    results, _ = answers(
        first_column, *[[[1]]] * 99, [[2]], clients=["a"] * 99 + ["b"], max_rows_in_flight=50
    )
    assert [getattr(each, "status", 200) for each in results] == [200] * 40 + [429] * 59 + [200]
    assert "from this address" in results[50].message


def test_clients_take_turns():
    computed = []

    def record(x):
        computed.extend(x[:, 0].tolist())
        return first_column(x)

    requests = [[1]] * 6, [[2]], [[3]], [[4]], [[5]]
    answers(record, *requests, clients="aaaab", max_batch_rows=2, batchable=False)
    assert computed == [5, 1, 1, 2, 3, 4, 1, 1, 1, 1]


def test_a_small_request_does_not_wait_for_many_rows_of_a_different_client():
    _, batches = answers(first_column, [[1]], [[2]] * 4, [[3]] * 9, clients="abc", batch_wait_ms=10)
    assert batches == [5, 9]
    _, batches = answers(first_column, [[1]], [[2]] * 4, [[3]] * 9, clients="aaa", batch_wait_ms=10)
    assert batches == [14]


def test_a_client_never_has_all_workers():
    go, others = threading.Event(), []

    def compute(x):
        if x[0, 0] == 1:
            assert go.wait(10), "the other clients wait"
        else:
            others.append(x[0, 0])
            if len(others) == 2:
                go.set()
        return first_column(x)

    options = {"batchable": False, "batch_wait_ms": 0}
    for workers in (1, 2):
        go.clear(), others.clear()
        results, _ = answers(
            compute, *[[[1]]] * 4, [[2]], [[3]], clients="aaaabc", workers=workers, **options
        )
        assert [each["y"].tolist() for each in results] == [[1]] * 4 + [[2], [3]]


def test_batches_of_numbers_are_small_if_rows_are_long():
    _, batches = answers(first_column, [[0] * 1024] * 9, batch_wait_ms=0)
    assert batches == [4, 4, 1]


def test_batches_are_small_if_the_answer_grows_with_the_square_of_the_text():
    def weights(x):
        return {"y": np.zeros((len(x), 1, 1))}

    texts = [[b"x" * 48]] * 8  # up to 50 × 50 values each, and twice for two heads
    _, batches = answers(
        weights,
        texts,
        dtype=object,
        batchable=False,
        shape=(None, 2, None, None),
        max_answer_values=15_000,
    )
    assert batches == [3, 3, 2]


def test_a_row_whose_answer_may_not_fit_into_memory_is_refused_before_it_is_computed():
    results, batches = answers(
        first_column, [[b"x" * 998]], dtype=object, shape=(None, None, None), max_memory_mb=3
    )
    assert (results[0].status, batches) == (413, [])
    assert "may need 4 MB; at most 3 are allowed. Send shorter rows" in results[0].message


def test_results_are_counted_as_memory_of_their_connection():
    signature = ServedSignature("s", {"x": Spec("int32", (None, None))}, {}, True, None)

    class Wide(ServedSignature):
        def run(self, inputs):
            return {"y": np.zeros((len(inputs["x"]), 100))}

    async def send():
        connection = FakeConnection()
        batcher = Batcher(Wide(*signature), Workers(Limits(max_batch_rows=2), Metrics()))
        await batcher({"x": np.zeros((5, 1), "int32")}, connection)
        batcher.close()
        return connection.held

    assert asyncio.run(send()) >= 4 * 500


def test_an_answer_that_grows_too_large_is_refused():
    results, batches = answers(
        lambda x: {"y": np.zeros((len(x), 100))},
        [[1]] * 10,
        max_batch_rows=2,
        max_answer_values=500,
    )
    assert results[0].status == 413
    assert len(batches) == 3


@pytest.mark.parametrize("error", [ValueError("bad row"), Refusal(400, "bad row")])
def test_a_request_that_fails_leaves_the_others_of_its_batch_alone(error):
    def fail_at_5(x):
        if (x == 5).any():
            raise error
        return first_column(x)

    results, batches = answers(fail_at_5, *([[n]] for n in range(12)), batch_wait_ms=10)
    assert results[5] is error
    assert [each["y"].tolist() for n, each in enumerate(results) if n != 5] == [
        [n] for n in range(12) if n != 5
    ]
    assert batches == [12] + [1] * 12
