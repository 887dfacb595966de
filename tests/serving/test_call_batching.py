"""Rows of all requests share batches if the engine searches for them in the same way."""

import asyncio

import numpy as np
import pytest
from support.serving.served_engine import Client, EchoEngine, predictions

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.serving.call_batching import bytes_of, method_of, widths
from t2t_keras.translating.calls import BATCH_TOKENS, Call


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


def test_rows_with_different_options_share_a_batch():
    rows = [{"text": "a", "alpha": n / 4, "beam": n + 1, "n_best": n % 2 + 1} for n in range(4)]
    assert batches(*rows, full=4) == [("search", ["alpha", "beam", "n_best"], 4)]


def test_rows_share_batches_with_sentences_of_others():
    rows = [{"text": "a"}, {"text": "One dog. Two dogs."}, {"text": "b", "split": False}]
    assert batches(*rows, full=4) == [("search", [], 4)]


def test_kinds_of_rows_that_arrive_in_turn_still_share_batches():
    """A row with phrases is not in a batch of plain rows, whose search is faster."""
    phrases, prefix = {"text": "dog", "require": "Hund"}, {"text": "dog", "prefix": "Ein"}
    kinds, unused = [{"text": "dog"}, phrases, prefix], {"text": "dog", "glossary": "cat\tKatze"}
    assert batches(*kinds, *kinds, unused, phrases, prefix, full=3) == [
        ("search", [], 3),
        ("search", ["phrases"], 3),
        ("search", ["prefix"], 3),
    ]


def test_words_of_all_requests_share_batches():
    row = {"text": "The dog sleeps.", "confidence": True, "alignments": True}
    expected = [("attention", [], 4), ("log_p", [], 4), ("search", [], 4)]
    assert batches(*[row] * 4, full=4) == expected


def test_a_request_of_many_rows_is_computed_in_parts_and_keeps_its_order():
    engine, texts = EchoEngine(), [f"{n} a{'b' * (n * 37 % 90)}" for n in range(40)]
    found = predictions(*texts, engine=engine, signature="serving_default", batch_wait_ms=0)
    assert [row["translations"] for row in found] == texts
    sizes = [rows for _, _, rows in engine.calls]
    assert max(sizes) == 32 and sum(sizes) == 40


def test_long_rows_make_batches_smaller():
    engine, row = EchoEngine(), {"text": "x" * 240, "confidence": True}
    predictions(*[row] * 20, engine=engine)
    width = engine.sources[0].shape[1]
    for method, room in {"search": engine.batch_tokens, "log_p": BATCH_TOKENS["log_p"]}.items():
        sizes = [rows for name, _, rows in engine.calls if name == method]
        assert max(sizes) == room // width < 20 == sum(sizes), method


@pytest.mark.parametrize(("method", "values"), [("search", 40), ("log_p", 10), ("attention", 100)])
def test_batches_are_bounded_by_an_estimate_of_their_results(method, values):
    found = method_of(Call(EchoEngine(), method, {}))
    assert found.values(10) == values and found.room == BATCH_TOKENS.get(method, 4096)


def test_phrases_count_in_the_width_of_a_row_and_results_as_memory():
    columns = {"source": [[3, 2], [3, 3, 2]], "phrases": [[[4], [5, 6]], []]}
    assert widths(Call(None, "search", columns)) == {0: 5, 1: 3}
    assert bytes_of(np.zeros(5, "float32")) == 20
    assert bytes_of(Hypotheses(np.zeros((2, 3), "int32"), np.zeros(2, "float32"))) == 32
