"""A client's one-row requests are answered beside clients that send large glossary requests.

It prints how long they wait. `T2T_RUN` is a run with an export; without it, a small one is trained.
"""

import asyncio
import collections
import contextlib
import os
import re
import statistics
import time
from pathlib import Path

import aiohttp
import pytest
from support.processes.commands import command, running

from pipelines.toy.grammar import pairs

pytestmark = pytest.mark.drill

ROWS = 32  # of a request of the clients that load the server
REQUESTS = 16  # requests of each of these clients at the same time
ASKED = 15  # requests of each kind of the client that is measured
TEXTS = [source for source, _ in pairs(ROWS, "test")]
GLOSSARY = "the\tdie\ndog\tHund\ncat\tKatze\nhouse\tHaus\nold\talte\n"
GLOSSARY += "\n".join(f"term {n}\tWort {n}" for n in range(200))
LOAD = [{"text": text, "glossary": GLOSSARY} for text in TEXTS]
KINDS = {
    "plain": {"text": "The old dog sleeps."},
    "glossary": {"text": "The old dog sleeps.", "glossary": "dog\tHund"},
    "markup": {"text": "<p>The <b>old</b> dog sleeps.</p>", "markup": "html"},
    "words": {"text": "The old dog sleeps.", "alignments": True, "confidence": True},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server's process and its URL of predictions."""
    run = Path(os.environ.get("T2T_RUN") or tmp_path_factory.mktemp("turns") / "toy")
    if "T2T_RUN" not in os.environ:
        flags = "--config.training.steps=300", "--config.training.warmup_steps=150"
        result = command("train", f"--run={run}", *flags, "--config.data.toy_pairs=20000")
        assert result.returncode == 0, result.stderr
    with running("serve", run, "--port=0") as process:
        address = re.search(r"http://[^/]+", process.line(300)).group()
        yield process, f"{address}/v1/models/{run.name}:predict"


@contextlib.asynccontextmanager
async def client(url, number):
    """Yields a function that sends rows from the address of a client."""
    connector = aiohttp.TCPConnector(limit=REQUESTS, local_addr=(f"127.0.0.{number}", 0))
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(rows):
            body = {"signature_name": "translate_with_options", "instances": rows}
            start = time.perf_counter()
            async with session.post(url, json=body) as response:
                await response.read()
                return response.status, time.perf_counter() - start

        yield send


async def load(url, number, statuses):
    """Sends large requests until it is cancelled."""
    async with client(url, number) as send, asyncio.TaskGroup() as tasks:

        async def repeat():
            while True:
                status, _ = await send(LOAD)
                statuses[status] += 1
                if status != 200:
                    await asyncio.sleep(0.2)

        for _ in range(REQUESTS):
            tasks.create_task(repeat())


async def measured(url, clients):
    """Prints the seconds of one-row requests beside a number of clients."""
    statuses = collections.Counter()
    loads = [asyncio.create_task(load(url, 2 + i, statuses)) for i in range(clients)]
    async with client(url, 1) as send:
        await asyncio.sleep(3 if clients else 0)
        for kind, row in KINDS.items():
            found = [await send([row]) for _ in range(ASKED)]
            times = [seconds for _, seconds in found]
            print(
                f"beside {clients} clients, {kind}: median {statistics.median(times):.3f} s, "
                f"longest {max(times):.3f} s"
            )
            assert {status for status, _ in found} == {200}
    for each in loads:
        each.cancel()
    await asyncio.gather(*loads, return_exceptions=True)
    print(f"the others: {statuses}", flush=True)


@pytest.mark.parametrize("clients", [0, 1, 4])
def test_a_client_with_one_row_is_answered_beside_others(server, clients):
    process, url = server
    asyncio.run(measured(url, clients))
    assert "Traceback" not in process.errors()
