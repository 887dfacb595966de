"""Requests share batches without affecting each other's answers."""

import asyncio

import numpy as np
import pytest

from t2t_keras.serving.batching import Batcher, Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.models import Signature
from t2t_keras.serving.tensors import Spec


def answers(compute, *requests, dtype="int32", batchable=True, **limits):
    """Sends requests at the same time; returns their answers and the rows of each batch.

    Args:
        compute: function from the array `x` of a batch to its outputs.
        requests: for each request the rows of `x`.
    """
    batches = []

    class Counting(Signature):
        def run(self, inputs):
            batches.append(len(inputs["x"]))
            return compute(inputs["x"])

    signature = Counting("s", {"x": Spec("any", (None, None))}, {}, batchable, None)

    async def send():
        settings = Limits(**{"workers": 1, "wait": 50, **limits})
        batcher = Batcher(signature, Workers(settings, Metrics()))
        rows = (np.array(request, dtype) for request in requests)
        results = await asyncio.gather(
            *(batcher({"x": each}) for each in rows), return_exceptions=True
        )
        batcher.close()
        return results

    return asyncio.run(send()), batches


def first_column(x):
    return {"y": x[:, 0]}


def test_requests_share_a_batch_if_their_rows_have_the_same_shape():
    results, batches = answers(
        first_column, [[1, 1], [2, 2]], [[3, 3]], [[4, 4, 4]], [[5, 5]], wait=10
    )
    assert [each["y"].tolist() for each in results] == [[1, 2], [3], [4], [5]]
    assert batches == [3, 1, 1]


def test_requests_for_a_signature_that_is_not_batchable_are_computed_alone():
    results, batches = answers(first_column, [[1], [2]], [[3]], batchable=False)
    assert [each["y"].tolist() for each in results] == [[1, 2], [3]]
    assert batches == [2, 1]


def test_a_request_of_many_rows_is_computed_in_parts_and_keeps_its_order():
    texts = [f"{n} {'b' * (n * 37 % 400)}".encode() for n in range(100)]
    results, batches = answers(lambda x: {"y": x}, texts, dtype=object, wait=0)
    assert results[0]["y"].tolist() == texts
    assert max(batches) == 32 and sum(batches) == 100


def test_long_rows_make_batches_smaller():
    texts = [b"x" * 4000] * 8
    _, batches = answers(lambda x: {"y": x}, texts, dtype=object, wait=0)
    assert batches == [4, 4]


def test_parts_with_answers_of_different_shapes_are_padded():
    def as_wide_as_the_batch(x):
        return {"y": x[:, :1] * np.ones((1, len(x)), int)}

    results, batches = answers(as_wide_as_the_batch, [[1], [2], [3]], batchable=False, batch=2)
    assert results[0]["y"].tolist() == [[1, 1], [2, 2], [3, 0]]
    assert batches == [2, 1]


def test_rows_beyond_the_queue_are_refused():
    results, batches = answers(
        first_column, [[1]] * 3, [[2]] * 2, [[3]], [[4]] * 5, queue=4, wait=10
    )
    assert [each.status for each in results if isinstance(each, Refusal)] == [429, 413]
    assert batches == [4]


def test_an_answer_that_grows_too_large_is_refused():
    results, batches = answers(
        lambda x: {"y": np.zeros((len(x), 100))}, [[1]] * 10, batch=2, answer=500
    )
    assert results[0].status == 413
    assert len(batches) == 3


@pytest.mark.parametrize("error", [ValueError("bad row"), Refusal(400, "bad row")])
def test_a_request_that_fails_leaves_the_others_of_its_batch_alone(error):
    def fail_at_5(x):
        if (x == 5).any():
            raise error
        return first_column(x)

    results, batches = answers(fail_at_5, *([[n]] for n in range(12)), wait=10)
    assert results[5] is error
    assert [each["y"].tolist() for n, each in enumerate(results) if n != 5] == [
        [n] for n in range(12) if n != 5
    ]
    assert batches == [12] + [1] * 12
