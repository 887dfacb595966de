"""A client's one-row requests are answered beside clients that send large glossary requests.

It prints how long they wait. `T2T_RUN` is a run with an export; without it, a small one is trained.
"""

import asyncio
import contextlib
import os
import time
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from support.processes.commands import command
from support.serving.serving_client import served

from pipelines.toy.grammar import pairs

pytestmark = pytest.mark.drill
REQUESTS = 16  # requests of each large client at the same time
GLOSSARY = "dog\tHund\nhouse\tHaus\n" + "\n".join(f"term {n}\tWort {n}" for n in range(200))
LARGE = [{"text": source, "glossary": GLOSSARY} for source, _ in pairs(32, "test")]
TEXT = "The old dog sleeps."
KINDS = {
    "plain": {"text": TEXT},
    "glossary": {"text": TEXT, "glossary": "dog\tHund"},
    "markup": {"text": f"<p>{TEXT}</p>", "markup": "html"},
    "words": {"text": TEXT, "alignments": True, "confidence": True},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server's process and its URL of predictions."""
    run = Path(os.environ.get("T2T_RUN") or tmp_path_factory.mktemp("turns") / "toy")
    if "T2T_RUN" not in os.environ:
        result = command("train", f"--run={run}", "--config.training.steps=300")
        assert result.returncode == 0, result.stderr
    with served(run) as (process, address):
        yield process, f"{address}/v1/models/{run.name}:predict"


@contextlib.asynccontextmanager
async def client(url, number):
    """Yields a function that sends rows from an address and returns the status and the seconds."""
    connector = aiohttp.TCPConnector(limit=REQUESTS, local_addr=(f"127.0.0.{number}", 0))
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(rows):
            body = {"signature_name": "translate_with_options", "instances": rows}
            start = time.perf_counter()
            async with session.post(url, json=body) as response:
                await response.read()
                return response.status, time.perf_counter() - start

        yield send


async def load(url, number):
    """Sends large requests until it is cancelled."""

    async def repeat(send):
        while True:
            if (await send(LARGE))[0] != 200:
                await asyncio.sleep(0.2)

    async with client(url, number) as send:
        await asyncio.gather(*(repeat(send) for _ in range(REQUESTS)))


async def measured(url, clients):
    """Prints the seconds of one-row requests beside a number of large clients."""
    loads = [asyncio.create_task(load(url, 2 + i)) for i in range(clients)]
    async with client(url, 1) as send:
        await asyncio.sleep(3 if clients else 0)
        for kind, row in KINDS.items():
            statuses, seconds = zip(*[await send([row]) for _ in range(15)], strict=True)
            print(f"{clients} clients, {kind}: median {np.median(seconds):.3f} s, {max(seconds)}")
            assert {*statuses} == {200}
    for each in loads:
        each.cancel()
    await asyncio.gather(*loads, return_exceptions=True)


@pytest.mark.parametrize("clients", [0, 1, 4])
def test_a_client_with_one_row_is_answered_beside_others(server, clients):
    process, url = server
    asyncio.run(measured(url, clients))
    assert "Traceback" not in process.errors()
