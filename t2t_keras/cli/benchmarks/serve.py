"""Requests of many connections to a server: how many a second, how long each, and all right?

Every text is asked for alone at first. Then all connections ask at once, each for the next text as
soon as it has an answer, and every answer is held against the one that the text was given alone.
"""

import asyncio
import collections
import random
import statistics
import time

import aiohttp
from absl import flags

from pipelines.toy_grammar import pairs
from t2t_keras.runs.lines import read_lines

URL = flags.DEFINE_string("url", None, "serve: the model, http://HOST:PORT/v1/models/NAME.")
CONNECTIONS = flags.DEFINE_integer("connections", 50, "serve: at the same time.", lower_bound=1)
REQUESTS = flags.DEFINE_integer("requests", 1000, "serve: in all.", lower_bound=1)
TEXTS = flags.DEFINE_string("texts", None, "serve: a file, a text each line. None: toy grammar.")
DISTINCT = 100  # texts that are asked for, again and again


def measure():
    if not URL.value:
        raise ValueError("--url=http://HOST:PORT/v1/models/NAME is needed: what t2t-serve serves")
    if TEXTS.value:
        texts = read_lines(TEXTS.value)[:DISTINCT]
    else:
        texts = [source for source, _ in pairs(DISTINCT, "test")]
    if not texts:
        raise ValueError(f"--texts={TEXTS.value} has no line")
    try:
        alone, results, seconds = asyncio.run(asked(texts))
    except aiohttp.ClientError as error:
        raise ValueError(f"no answer from --url={URL.value}: {error}") from error
    report(alone, results, seconds)


async def asked(texts):
    """What each text is answered alone; then (text, status, answer, seconds) of every request."""
    connector = aiohttp.TCPConnector(limit=CONNECTIONS.value)
    async with aiohttp.ClientSession(connector=connector) as session:
        alone = {text: await ask(session, text) for text in dict.fromkeys(texts)}
        for status, answer, _ in alone.values():
            if status != 200:
                raise ValueError(f"--url={URL.value} answers {status}: {answer['error']}")
        chosen = iter(random.Random(0).choices(texts, k=REQUESTS.value))
        results = []

        async def client():
            for text in chosen:
                results.append((text, *await ask(session, text)))

        start = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CONNECTIONS.value)))
        return alone, results, time.perf_counter() - start


async def ask(session, text):
    start = time.perf_counter()
    async with session.post(f"{URL.value}:predict", json={"inputs": [text]}) as response:
        answer = await response.json()
        if response.status == 200:
            answer = answer["outputs"]["translations"]
        return response.status, answer, time.perf_counter() - start


def report(alone, results, seconds):
    statuses = collections.Counter(status for _, status, _, _ in results)
    others = sum(answer != alone[text][1] for text, status, answer, _ in results if status == 200)
    print(f"{len(results):,} requests of a text, {CONNECTIONS.value} connections")
    print(f"{len(results) / seconds:>12,.1f} requests a second")
    print(f"{'alone':<12} {latencies([taken for _, _, taken in alone.values()])}")
    print(f"{'together':<12} {latencies([taken for *_, taken in results])}")
    print(f"{statuses.pop(200, 0):>12,} answered, {others} of them otherwise than alone")
    for status, count in statuses.items():
        print(f"{count:>12,} answered with {status}")


def latencies(seconds):
    if len(seconds) == 1:
        seconds = seconds * 2
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return "  ".join(f"{1e3 * cuts[n - 1]:.1f} ms ({n} %)" for n in (50, 90, 99))
