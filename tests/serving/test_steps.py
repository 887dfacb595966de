"""Translations are advanced at once or in few threads, and clients take turns."""

import asyncio
import threading

import pytest

from t2t_keras.serving import steps as module
from t2t_keras.serving.steps import Steps


def asks(*calls, result="done", code=lambda: None):
    """Yields calls, runs code after each, and returns a result and what it was sent."""
    sent = []
    for call in calls:
        code()
        sent.append((yield call))
    code()
    return result, sent


async def answered(call):
    await asyncio.sleep(0)
    return call.upper()


async def free(steps):
    """Waits until no code runs in a thread."""
    async with asyncio.timeout(30):
        while steps.places.works_for:
            await asyncio.sleep(0.01)
    return steps.places.free, steps.turns.rows


def test_short_code_runs_in_the_event_loop_and_longer_code_in_a_thread():
    async def ask(is_short):
        threads = []

        def code():
            threads.append(threading.current_thread() is threading.main_thread())

        found = await Steps()(asks("a", "b", code=code), answered, "client", is_short)
        assert found == ("done", ["A", "B"])
        return threads

    assert asyncio.run(ask(True)) == [True] * 3
    assert asyncio.run(ask(False)) == [False] * 3


@pytest.mark.parametrize("is_short", [True, False])
@pytest.mark.parametrize("where", ["code", "call"])
def test_errors_of_the_code_and_of_calls_reach_the_request_and_free_its_turn(is_short, where):
    def fail():
        raise ValueError("wrong")

    async def refused(call):
        raise ValueError("wrong")

    async def ask():
        steps = Steps()
        code, called = (fail, answered) if where == "code" else (lambda: None, refused)
        with pytest.raises(ValueError, match="wrong"):
            await steps(asks("a", code=code), called, "client", is_short)
        return await free(steps)

    assert asyncio.run(ask()) == (module.AT_ONCE, 0)


def test_a_turn_ends_at_a_call():
    """So no thread waits for an engine, however many requests do."""

    async def ask():
        steps, go, waiting = Steps(), asyncio.Event(), []

        async def called(call):
            waiting.append(call)
            await go.wait()
            return call

        requests = [asyncio.create_task(steps(asks("a"), called, "c", False)) for _ in range(50)]
        async with asyncio.timeout(30):
            while len(waiting) < 50:
                await asyncio.sleep(0.01)
        during = await free(steps), len(steps.threads._threads)
        go.set()
        await asyncio.gather(*requests)
        return during

    places, threads = asyncio.run(ask())
    assert places == (module.AT_ONCE, 0) and threads <= module.AT_ONCE


def test_a_client_whose_code_takes_long_delays_no_other_client():
    go = threading.Event()

    async def ask():
        steps = Steps()

        def slow():
            assert go.wait(30)

        of_a = [
            asyncio.create_task(steps(asks("a", code=slow), answered, "a", False))
            for _ in range(20)
        ]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            of_others = [await steps(asks("b"), answered, client, False) for client in "bcd"]
        go.set()
        return of_others, await asyncio.gather(*of_a)

    of_others, of_a = asyncio.run(ask())
    assert of_others == [("done", ["B"])] * 3 and of_a == [("done", ["A"])] * 20


def test_turns_are_free_again_when_clients_disconnect_at_any_time():
    async def disconnect():
        steps = Steps()
        for pause in (0, 0, 0.001, 0.01, 0.05):
            requests = [
                asyncio.create_task(steps(asks(*"abc"), answered, client, False))
                for client in "ab" * 8
            ]
            await asyncio.sleep(pause)
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
        after = await free(steps)
        assert await steps(asks("a"), answered, "a", False) == ("done", ["A"])
        return after

    assert asyncio.run(disconnect()) == (module.AT_ONCE, 0)


@pytest.mark.parametrize("fails", [False, True])
def test_the_turn_of_a_client_that_disconnects_lasts_until_its_code_has_run(fails, caplog):
    """Otherwise such clients would have any number of threads at once."""
    started, finish, calls = threading.Event(), threading.Event(), []

    def computes():
        started.set()
        assert finish.wait(10)
        if fails:
            raise ValueError("nobody waits for this error")

    async def called(call):
        calls.append(call)

    async def disconnect():
        steps = Steps()
        request = asyncio.create_task(steps(asks("a", code=computes), called, "a", False))
        assert await asyncio.to_thread(started.wait, 10)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        during = steps.places.free
        finish.set()
        return during, await free(steps)

    assert asyncio.run(disconnect()) == (module.AT_ONCE - 1, (module.AT_ONCE, 0))
    assert not calls, "nothing is computed for it"
    assert not caplog.records
