"""Batching by itself, with a signature that counts its rows."""

import asyncio

import numpy as np

from t2t_keras.serving.batching import Batcher, Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.models import Signature
from t2t_keras.serving.tensors import Spec


def together(run, *requests, limits=None, outputs=None):
    """What a batcher makes of requests that come at once; and the rows of each batch."""
    batches = []

    def counted(inputs):
        batches.append(len(inputs["x"]))
        return run(inputs["x"])

    class Counting(Signature):
        def run(self, inputs):
            return counted(inputs)

    outputs = outputs or {"y": Spec("int32", (None,))}
    signature = Counting("s", {"x": Spec("int32", (None, None))}, outputs, None)

    async def ask():
        batcher = Batcher(signature, Workers(limits or Limits(workers=1, wait=50), Metrics()))
        rows = (np.array(request, "int32") for request in requests)
        found = await asyncio.gather(
            *(batcher({"x": each}) for each in rows), return_exceptions=True
        )
        batcher.close()
        return found

    return asyncio.run(ask()), batches


def test_requests_go_together_only_if_their_rows_are_of_one_shape():
    found, batches = together(
        lambda x: {"y": x[:, 0]}, [[1, 1], [2, 2]], [[3, 3]], [[4, 4, 4]], [[5, 5]]
    )
    assert [each["y"].tolist() for each in found] == [[1, 2], [3], [4], [5]]
    assert batches == [3, 1, 1]


def test_more_than_the_queue_holds_is_refused():
    limits = Limits(queue=4, wait=10)
    found, batches = together(
        lambda x: {"y": x[:, 0]}, [[1]] * 3, [[2]] * 2, [[3]], [[4]] * 5, limits=limits
    )
    assert [each.status for each in found if isinstance(each, Refusal)] == [429, 413]
    assert batches == [4]


def test_parts_of_an_answer_are_put_together_and_filled_up():
    limits = Limits(batch=2)
    any_size = {"y": Spec("int32", (None, None))}

    def numbered(x):
        return {"y": x[:, :1] * np.ones((1, len(x)), int)}

    found, batches = together(numbered, [[1], [2], [3]], [[4]], limits=limits, outputs=any_size)
    assert found[0]["y"].tolist() == [[1, 1], [2, 2], [3, 0]]
    assert found[1]["y"].tolist() == [[4]]
    assert sorted(batches) == [1, 1, 2]  # shapes that depend on the batch: each request alone


def test_an_answer_that_grows_too_large_is_refused():
    found, batches = together(
        lambda x: {"y": np.zeros((len(x), 100))}, [[1]] * 10, limits=Limits(batch=2, answer=500)
    )
    assert found[0].status == 413
    assert len(batches) == 3
