"""Measures the requests per second and latencies of a server, and checks its answers.

Each text is first sent alone. Then all connections send requests in parallel, each connection as
soon as its previous request is answered. Every answer is compared with the answer to the same text
sent alone.
"""

import asyncio
import collections
import random
import statistics
import time

from absl import flags

URL = flags.DEFINE_string(
    "url", None, "serve: address of the model, http://HOST:PORT/v1/models/NAME."
)
CONNECTIONS = flags.DEFINE_integer(
    "connections", 50, "serve: simultaneous connections.", lower_bound=1
)
REQUESTS = flags.DEFINE_integer("requests", 1000, "serve: total number of requests.", lower_bound=1)
TEXTS = flags.DEFINE_string(
    "texts",
    None,
    "serve: file with one text per line; the first 100 are sent. Default: sentences of the toy "
    "grammar.",
)
FLAGS = (URL, CONNECTIONS, REQUESTS, TEXTS)
DISTINCT = 100  # maximum number of different texts


def measure():
    import aiohttp

    from pipelines.toy.grammar import pairs
    from t2t_keras.runs.text_files import read_lines

    if not URL.value:
        raise ValueError(
            "--url must be the address of a model of t2t-serve, "
            "http://HOST:PORT/v1/models/NAME. Received: none"
        )
    texts = [source for source, _ in pairs(DISTINCT, "test")]
    if TEXTS.value:
        texts = read_lines(TEXTS.value)[:DISTINCT]
    if not texts:
        raise ValueError(f"--texts must not be empty. Received: --texts={TEXTS.value}")
    try:
        alone, results, seconds = asyncio.run(send_all(texts))
    except aiohttp.ClientError as error:
        raise ValueError(
            f"--url does not answer ({error}). It must be the address of a model of t2t-serve. "
            f"Received: --url={URL.value}"
        ) from error
    statuses = collections.Counter(status for _, status, _, _ in results)
    changed = sum(answer != alone[text][1] for text, status, answer, _ in results if status == 200)
    print(f"{len(results):,} requests with one text each, {CONNECTIONS.value} connections")
    print(f"{len(results) / seconds:>12,.1f} requests per second")
    for name, taken in (("alone", alone.values()), ("together", results)):
        *_, elapsed = zip(*taken, strict=True)
        elapsed *= 1 + (len(elapsed) == 1)  # `quantiles` needs two
        cuts = statistics.quantiles(elapsed, n=100, method="inclusive")
        latencies = (f"{1e3 * cuts[n - 1]:.1f} ms ({n} %)" for n in (50, 90, 99))
        print(f"{name:<12} {'  '.join(latencies)}")
    print(f"{statuses.pop(200, 0):>12,} answered; {changed} differ from the single-request answer")
    for status, count in statuses.items():
        print(f"{count:>12,} answered with {status}")


async def send_all(texts):
    """Sends each text alone, then all requests.

    Returns {text: (status, answer, seconds)} of the former, a list of (text, status, answer,
    seconds) of the latter, and the seconds that they took together.
    """
    import aiohttp

    connector = aiohttp.TCPConnector(limit=CONNECTIONS.value)
    async with aiohttp.ClientSession(connector=connector) as session:
        alone = {text: await send(session, text) for text in dict.fromkeys(texts)}
        for status, answer, _ in alone.values():
            if status != 200:
                raise ValueError(f"--url={URL.value} answers {status}: {answer['error']}")
        requests = iter(random.Random(0).choices(texts, k=REQUESTS.value))
        results = []

        async def client():
            for text in requests:
                results.append((text, *await send(session, text)))

        start = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CONNECTIONS.value)))
        return alone, results, time.perf_counter() - start


async def send(session, text):
    """Sends a text and returns the status, the answer and the seconds it took."""
    start = time.perf_counter()
    async with session.post(f"{URL.value}:predict", json={"inputs": [text]}) as response:
        answer = await response.json()
        if response.status == 200:
            answer = answer["outputs"]["translations"]
        return response.status, answer, time.perf_counter() - start
