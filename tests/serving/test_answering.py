"""Answers: defaults, limits, and a queue that is empty again whatever happens to requests."""

import asyncio
import threading

import pytest
from support.serving.served_engine import Client, EchoEngine, predictions

from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.translating import texts as module

TEXT = "Two dogs. The cat sleeps."
GLOSSARY = {"text": "The dog sleeps.", "glossary": "dog\tHund"}
SENTENCE = "Two dogs sleep here now. "


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("expected", "row", "settings"),
    [
        (2, {}, {}),
        (1, {"split": False}, {"split": "auto"}),
        (1, {}, {"split": "off"}),
        (2, {"split": True}, {"split": "off"}),
        (1, {}, {"default": "off"}),
        (2, {}, {"default": "off", "split": "auto"}),
        (2, {}, {"signature": "serving_default"}),
        (1, {}, {"signature": "serving_default", "default": "off"}),
        (1, {"require": "Hund"}, {}),
    ],
)
def test_texts_are_split_unless_something_says_otherwise(expected, row, settings):
    settings = {"default": "auto", **settings}
    engine = EchoEngine(split=settings.pop("default"))
    predictions({"text": TEXT, **row}, engine=engine, **settings)
    assert sum(rows for _, _, rows in engine.calls) == expected


@pytest.mark.parametrize("option", [{}, {"alignments": True}, {"glossary": "dog\tHund"}])
def test_texts_may_have_as_many_sentences_as_a_request_has_rows(option):
    rows = {"text": "A dog. " * 3, **option}, {"text": "A dog.", "split": False}
    assert predictions(*rows, max_rows_in_flight=8)
    with pytest.raises(Refusal, match="have 4 sentences; at most 3 are allowed") as error:
        predictions(*rows, max_rows_in_flight=6)
    assert error.value.status == 413


def test_samples_of_a_sentence_count_as_rows():
    engine = EchoEngine(offers=("method", "n_best"))
    row = {"text": "A dog. " * 3, "mbr": 7, "method": "sample"}
    (answer,) = predictions(row, engine=engine, max_rows_in_flight=12)
    assert sum(rows for *_, rows in engine.calls) == 6, "7 samples need two rows of 4"
    assert answer["translations"][0].startswith("A dog.") and answer["scores"][0] > 50
    with pytest.raises(Refusal, match="have 6 sentences; at most 5 are allowed"):
        predictions(row, engine=engine, max_rows_in_flight=11)
    with pytest.raises(Refusal, match=r"`n_best` must be at most 4\. Received: n_best=5"):
        predictions(row | {"n_best": 5}, engine=engine)


@pytest.mark.parametrize("option", [{}, {"markup": "html"}, {"glossary": f"{'x' * 99}\tdog"}])
def test_the_limit_of_a_text_is_one_of_each_sentence(option):
    text = SENTENCE * 80 + "X" * 30
    (answer,) = predictions({"text": text, **option}, max_text_bytes=30)
    assert answer["translations"][0] == text
    for row, size in (
        ({"text": "Two dogs. " + "X" * 31, **option}, 31),
        ({"text": (SENTENCE * 4).strip(), "split": False, **option}, 99),
        ({"text": (SENTENCE * 4).strip(), "require": "Hund"}, 99),
    ):
        message = rf"Row 1: a sentence has {size} bytes; at most 30 .*--max_text_bytes"
        with pytest.raises(Refusal, match=message) as error:
            predictions({"text": "A dog."}, row, max_text_bytes=30)
        assert error.value.status == 413


def test_an_unknown_signature_is_not_found():
    message = r"'scroe' not found.*serving_default, translate_n_best"
    with pytest.raises(Refusal, match=message) as error:
        predictions("a", signature="scroe")
    assert error.value.status == 404


def test_the_code_of_large_texts_does_not_run_in_the_event_loop(monkeypatch):
    split, threads = module.split_sentences, []

    def recorded(text):
        threads.append(threading.current_thread().name.rpartition("_")[0])
        return split(text)

    monkeypatch.setattr(module, "split_sentences", recorded)
    for name, rows in {
        "short": [{"text": "a" * 950}],
        "glossary": [GLOSSARY],
        "markup": [{"text": "a <b>b</b>", "markup": "html"}],
        "long": [{"text": "a" * 951}],
        "many": [{"text": ""}] * 21,
        "prefix": [{"text": "a", "prefix": "dog " * 500}],
    }.items():
        threads.clear()
        predictions(*rows)
        assert {*threads} == ({""} if name == "short" else {"steps"}), name


def test_a_clients_row_is_answered_beside_a_client_whose_requests_take_long(monkeypatch):
    """That client's batches take all workers but one, and its code takes one thread."""
    go, waits, split = threading.Event(), threading.Event(), module.split_sentences

    def slow(text):
        if "slow" in text:
            waits.set()
            assert go.wait(30)
        return split(text)

    class Slow(EchoEngine):
        def search(self, rows):
            assert rows.phrases is None or go.wait(30)
            return super().search(rows)

    monkeypatch.setattr(module, "split_sentences", slow)

    async def ask():
        client = Client(Slow(), batch_wait_ms=0)
        loads = [asyncio.create_task(client(*[GLOSSARY] * 32, client="large")) for _ in range(9)]
        await until(lambda: client.batcher.free == 1)
        slow = GLOSSARY | {"text": "slow"}
        loads += [asyncio.create_task(client(slow, client="large")) for _ in range(9)]
        await until(waits.is_set)
        kinds = {"markup": "html"}, {"confidence": True}, {}
        async with asyncio.timeout(20):
            answers = [await client({"text": "a", **kind}, client="small") for kind in kinds]
        assert not any(each.done() for each in loads)
        go.set()
        await asyncio.gather(*loads)
        await client.close()
        return [answer[0]["translations"][0] for answer in answers]

    assert asyncio.run(ask()) == ["a", "a", "a"]


@pytest.mark.parametrize(
    ("last", "kind", "message"),
    [
        ({"text": "a", "glossary": "dog Hund"}, Refusal, "Row 99: `glossary`, line 1"),
        ({"text": "", "require": "Hund"}, Refusal, "Row 99: the translation of an empty text"),
        ({"text": "this will fail"}, ValueError, "a secret of the engine"),
    ],
)
def test_a_wrong_row_of_a_hundred_leaves_nothing_in_the_queue(last, kind, message):
    async def ask():
        client = Client(EchoEngine())
        with pytest.raises(kind, match=message):
            await client(*[{"text": "a"}] * 99, last)
        batcher = client.batcher
        assert (batcher.rows, batcher.rows_of) == (0, {})
        assert await client({"text": "a"})
        await client.close()
        assert (batcher.free, batcher.waiting) == (Limits().workers + 1, {})

    asyncio.run(ask())


def test_a_request_that_outgrows_the_queue_is_refused_and_frees_its_rows():
    async def ask():
        client = Client(EchoEngine(), max_rows_in_flight=40)
        with client.batcher.admitted(10, "b"):
            with pytest.raises(Refusal) as error:
                await client({"text": "A dog. " * 16})
            return error.value.status, client.batcher.rows, dict(client.batcher.rows_of)

    assert asyncio.run(ask()) == (429, 10, {"b": 10})


@pytest.mark.parametrize("fails", [False, True])
def test_a_client_that_disconnects_frees_its_rows_and_its_turn_once_its_code_has_run(
    monkeypatch, caplog, fails
):
    """Otherwise such clients would have any number of threads at once."""
    started, finish = threading.Event(), threading.Event()

    def slow(text):
        started.set()
        assert finish.wait(10)
        if fails:
            raise ValueError("nobody waits for this error")
        return [text], []

    monkeypatch.setattr(module, "split_sentences", slow)
    engine = EchoEngine()

    async def ask():
        client = Client(engine)
        request = asyncio.create_task(client(GLOSSARY))
        assert await asyncio.to_thread(started.wait, 10)
        request.cancel()
        client.version.retire()  # its code still runs
        await asyncio.sleep(0.05)
        assert (client.batcher.rows, client.version.state) == (1, "UNLOADING")
        finish.set()
        await asyncio.gather(request, return_exceptions=True)
        await client.close()
        assert (client.batcher.rows, client.version.state) == (0, "END")

    asyncio.run(ask())
    assert not engine.calls, "nothing is computed for it"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
