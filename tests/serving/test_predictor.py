"""Predictions: defaults, limits, and a queue that is empty again whatever happens to requests."""

import asyncio
import threading

import pytest
from support.serving.served_engine import Client, EchoEngine, predictions

from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.translating import texts as module

TEXT = "Two dogs. The cat sleeps."
GLOSSARY = {"text": "The dog sleeps.", "glossary": "dog\tHund"}


def searched(row, signature="translate_with_options", default="auto", **settings):
    """Returns the number of sentences that are searched for."""
    engine = EchoEngine(split=default)
    predictions({"text": TEXT, **row}, engine=engine, signature=signature, **settings)
    return sum(rows for _, _, rows in engine.calls)


@pytest.mark.parametrize(
    ("expected", "row", "settings"),
    [
        (2, {}, {}),
        (1, {"split": False}, {"split": True}),
        (1, {}, {"split": False}),
        (2, {"split": True}, {"split": False}),
        (1, {}, {"default": "off"}),
        (2, {}, {"default": "off", "split": True}),
        (2, {}, {"signature": "serving_default"}),
        (1, {}, {"signature": "serving_default", "default": "off"}),
        (1, {}, {"signature": "translate_n_best", "split": False}),
        (1, {"require": "Hund"}, {}),
    ],
)
def test_texts_are_split_unless_something_says_otherwise(expected, row, settings):
    assert searched(row, **settings) == expected


def test_long_and_short_texts_have_the_same_answers():
    text = " ".join(f"Number {n} sleeps." for n in range(200))
    assert predictions(text, signature="serving_default")[0]["translations"] == text


@pytest.mark.parametrize("option", [{}, {"alignments": True}, {"glossary": "dog\tHund"}])
def test_sentences_are_limited_as_rows_are(option):
    row = {"text": "A dog. " * 3, **option}
    one = {**row, "split": False}
    assert predictions(row, one, max_rows_in_flight=8)
    with pytest.raises(Refusal, match="have 4 sentences; at most 3 are allowed") as error:
        predictions(row, one, max_rows_in_flight=6)
    assert error.value.status == 413


def test_a_glossary_may_be_longer_than_a_text():
    long = "\n".join(f"{'x' * 50} {n}\tdog" for n in range(100))
    assert predictions({**GLOSSARY, "glossary": long})


SENTENCE = "Two dogs sleep here now. "


@pytest.mark.parametrize("row", [{}, {"markup": "html"}, {"glossary": "dog\tHund"}])
def test_the_limit_of_a_text_is_one_of_each_sentence(row):
    """A text of any length is allowed, but not a sentence, and not too many sentences."""
    limit = {"max_text_bytes": 30, "max_rows_in_flight": 80}
    text = (SENTENCE * 40).strip()
    assert len(predictions({"text": text, **row}, **limit)) == 1
    for wrong, message in (
        ("Two dogs. " + "X" * 31, r"Row 1: a sentence has 31 bytes; at most 30 .*--max_text_bytes"),
        (SENTENCE * 41, "have 42 sentences; at most 40 are allowed .*--max_rows_in_flight"),
    ):
        with pytest.raises(Refusal, match=message) as error:
            predictions({"text": "A dog."}, {"text": wrong, **row}, **limit)
        assert error.value.status == 413


@pytest.mark.parametrize("whole", [{"split": False}, {"require": "Hund"}])
def test_a_text_that_is_not_divided_is_one_sentence(whole):
    with pytest.raises(Refusal, match=r"a sentence has 100 bytes; at most 30"):
        predictions({"text": SENTENCE * 4, **whole}, max_text_bytes=30)


def test_too_many_sentences_are_refused_before_they_are_encoded(monkeypatch):
    monkeypatch.setattr(module, "encoded_sentences", None)
    with pytest.raises(Refusal, match="have 30,000 sentences"):
        predictions({"text": "No. A dog. " * 15_000})


@pytest.mark.parametrize(
    "row",
    [
        {"text": "a", "glossary": "\n".join(f"{n}\tb" for n in range(1000))},
        {"text": "<b></b>a " * 430, "markup": "html"},
    ],
)
def test_the_memory_of_glossaries_and_markup_counts(row):
    async def ask():
        client, held = Client(EchoEngine()), []
        connection = type(
            "Connection", (), {"client": "a", "hold": lambda _, size: held.append(size)}
        )
        await client(row, GLOSSARY, connection=connection())
        await client.close()
        return held

    assert asyncio.run(ask())[0] >= 500_000


def test_an_unknown_signature_is_not_found():
    with pytest.raises(
        Refusal, match=r"'scroe' not found.*serving_default, translate_n_best"
    ) as error:
        predictions("a", signature="scroe")
    assert error.value.status == 404


def test_the_code_of_large_texts_does_not_run_in_the_event_loop(monkeypatch):
    split, threads = module.split_sentences, []

    def recorded(text):
        threads.append(threading.current_thread().name.rpartition("_")[0])
        return split(text)

    monkeypatch.setattr(module, "split_sentences", recorded)
    kinds = {
        "short": [{"text": "a"}],
        "glossary": [GLOSSARY],
        "markup": [{"text": "a <b>b</b>", "markup": "html"}],
        "long": [{"text": TEXT * 100}],
        "many": [{"text": ""}] * 100,
        "prefix": [{"text": "a", "prefix": "dog " * 500}],
    }
    for name, rows in kinds.items():
        threads.clear()
        predictions(*rows)
        assert {*threads} == ({""} if name == "short" else {"steps"}), name


def test_no_thread_waits_for_a_batch():
    engine = EchoEngine()
    engine.may_go_on.clear()

    async def ask():
        client = Client(engine, max_batch_rows=1)
        before = threading.active_count()
        rows = [{**GLOSSARY, "text": f"The dog {n} sleeps."} for n in range(100)]
        requests = [
            asyncio.create_task(client(row, client=str(n % 4))) for n, row in enumerate(rows)
        ]
        kind = "search", "source", "index"  # without the terms, at first
        async with asyncio.timeout(30):
            while not (kind in client.version.calls and client.version.calls[kind].jobs.rows > 90):
                await asyncio.sleep(0.01)
        threads = threading.active_count() - before
        engine.may_go_on.set()
        answers = await asyncio.gather(*requests)
        await client.close()
        return threads, [answer[0]["translations"][0] for answer in answers]

    threads, answers = asyncio.run(ask())
    assert threads < 10
    assert answers == [f"Hund The dog {n} sleeps." for n in range(100)]


def test_a_clients_row_is_answered_beside_clients_with_large_glossary_requests():
    """Another client's batches take all workers but one, and its code all threads but one."""
    engine = EchoEngine()
    large = [GLOSSARY] * 32
    kinds = [
        {"text": "a"},
        {"text": "<b>a</b>", "markup": "html"},
        {"text": "a", "confidence": True},
    ]

    class Held(EchoEngine):
        """Does not compute rows with phrases until it is told to."""

        def search(self, rows):
            if rows.phrases is not None:
                assert go.wait(30)
            return super().search(rows)

    go, engine = threading.Event(), Held()

    async def ask():
        client = Client(engine, batch_wait_ms=0)
        loads = [asyncio.create_task(client(*large, client="large")) for _ in range(16)]
        await asyncio.sleep(0.2)
        async with asyncio.timeout(20):
            answers = [await client(row, client="small") for row in kinds]
        assert not any(each.done() for each in loads)
        go.set()
        await asyncio.gather(*loads)
        await client.close()
        return [answer[0]["translations"][0] for answer in answers]

    assert asyncio.run(ask()) == ["a", "<b>a</b>", "a"]


@pytest.mark.parametrize(
    ("last", "kind", "message"),
    [
        ({"text": "a", "glossary": "dog Hund"}, Refusal, "Row 999: `glossary`, line 1"),
        ({"text": "", "require": "Hund"}, Refusal, "Row 999: the translation of an empty text"),
        ({"text": "this will fail"}, ValueError, "a secret of the engine"),
    ],
)
def test_a_wrong_row_of_a_thousand_leaves_nothing_in_the_queue(last, kind, message):
    engine = EchoEngine()

    async def ask():
        client = Client(engine)
        with pytest.raises(kind, match=message):
            await client(*[{"text": "a"}] * 999, last)
        assert (client.workers.rows, client.workers.rows_of) == (0, {})
        assert await client({"text": "a"})
        await client.close()
        steps, jobs = (
            client.predictor.steps,
            [each.jobs.rows for each in client.version.calls.values()],
        )
        return steps.turns.rows, {*jobs}, client.workers.places.free, steps.places.free

    limits = Limits()
    assert asyncio.run(ask()) == (0, {0}, limits.workers + 1, 2)


def test_a_request_that_outgrows_the_queue_is_refused_and_frees_its_rows():
    async def ask():
        client = Client(EchoEngine(), max_rows_in_flight=40)
        with client.workers.admitted(10, "b"):
            with pytest.raises(Refusal) as error:
                await client({"text": "A dog. " * 16})
            return error.value.status, client.workers.rows, dict(client.workers.rows_of)

    assert asyncio.run(ask()) == (429, 10, {"b": 10})


@pytest.mark.parametrize(
    "row", [{"text": "One dog. " * 5}, GLOSSARY, {"text": "a", "confidence": True}]
)
def test_clients_that_disconnect_at_any_time_leave_nothing_in_the_queue(row):
    async def ask():
        client = Client(EchoEngine(seconds=0.005), batch_wait_ms=0)
        for pause in (0, 0, 0.001, 0.003, 0.01, 0.03):
            requests = [asyncio.create_task(client(row, client=name)) for name in "abab"]
            await asyncio.sleep(pause)
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
            assert (client.workers.rows, client.version.in_flight) == (0, 0)
        assert await client(row)
        await client.close()
        return client.predictor.steps.turns.rows

    assert asyncio.run(ask()) == 0


def test_the_rows_of_a_client_that_disconnects_while_its_code_runs_are_free(monkeypatch):
    started, finish = threading.Event(), threading.Event()

    def slow(text):
        started.set()
        assert finish.wait(10)
        return [text], []

    monkeypatch.setattr(module, "split_sentences", slow)
    engine = EchoEngine()

    async def ask():
        client = Client(engine)
        request = asyncio.create_task(client(GLOSSARY))
        assert await asyncio.to_thread(started.wait, 10)
        assert client.workers.rows == 1
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        assert (client.workers.rows, client.version.in_flight) == (0, 0)
        client.version.retire()  # its code still runs
        finish.set()
        await client.close()
        return client.version.state

    assert asyncio.run(ask()) == "END"
    assert not engine.calls


def test_a_retired_version_answers_the_requests_in_flight():
    engine = EchoEngine()
    engine.may_go_on.clear()

    async def ask():
        client = Client(engine)
        row = {"text": TEXT, "confidence": True, "alignments": True}
        requests = [asyncio.create_task(client(row)) for _ in range(3)]
        while not engine.calls:
            await asyncio.sleep(0.01)
        client.version.retire()
        assert client.version.state == "UNLOADING"
        engine.may_go_on.set()
        answers = await asyncio.gather(*requests)
        return (
            client.version.state,
            client.version.calls,
            [a[0]["translations"][0] for a in answers],
        )

    assert asyncio.run(ask()) == ("END", {}, [TEXT] * 3)


def test_a_text_that_the_engine_fails_at_leaves_the_others_of_its_batch_alone(caplog):
    async def ask():
        client = Client(EchoEngine(), batch_wait_ms=100)
        rows = [{"text": "a"}, {"text": "this will fail"}, {"text": "b"}]
        found = await asyncio.gather(*map(client, rows), return_exceptions=True)
        await client.close()
        return found

    first, failed, last = asyncio.run(ask())
    assert [each[0]["translations"][0] for each in (first, last)] == ["a", "b"]
    assert isinstance(failed, ValueError)
    assert "search failed" in caplog.text
