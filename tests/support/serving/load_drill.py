"""A server under requests from well-behaved and hostile clients at once."""

import asyncio
import collections
import contextlib
import os
import random
import time
from pathlib import Path

from support.serving.hostile_clients import PATIENCE, QUICK, SLOW
from support.serving.raw_requests import answer
from support.serving.serving_client import get, metric, served, until

REQUESTS = int(os.environ.get("T2T_DRILL_REQUESTS", 200_000))
SECONDS = float(os.environ.get("T2T_DRILL_SECONDS", "inf"))
# Requests until memory is measured for the first time: threads and buffers have grown by then.
FIRST = max(1000, REQUESTS // 5)
CONNECTIONS = 100
GOOD, BAD, WAITING = 32, 8, 120  # clients at the same time; WAITING: they keep the server waiting
GOOD_ADDRESS, BAD_ADDRESS = "127.0.0.1", "127.0.0.2"


class LoadDrill:
    """The clients of one server.

    Args:
        pid, port: the server's process and port.
        good_request: function from a `random.Random` to a request and its expected answer.

    Attributes:
        memory: the server's resident memory in MB after `FIRST` requests.
    """

    def __init__(self, pid, port, good_request):
        self.pid, self.port, self.good_request = pid, port, good_request
        self.done, self.counts, self.memory = 0, collections.Counter(), None
        self.end = time.monotonic() + SECONDS

    def goes_on(self):
        return self.done < REQUESTS and time.monotonic() < self.end

    def count(self, kind, requests=1):
        self.done += requests
        self.counts[kind] += requests
        if self.memory is None and self.done >= FIRST:
            self.memory = memory(self.pid)

    async def run(self):
        """Sends each kind of request once, then all at once."""
        for kind in dict.fromkeys((*QUICK, *SLOW)):
            await kind(self, random.Random(0))
        async with asyncio.TaskGroup() as clients:
            for seed in range(GOOD):
                clients.create_task(self.well_behaved(random.Random(seed)))
            for seed in range(BAD):
                clients.create_task(self.repeat(QUICK, random.Random(-1 - seed)))
            for seed in range(WAITING):
                clients.create_task(self.repeat(SLOW, random.Random(1000 + seed)))

    async def repeat(self, kinds, choices):
        while self.goes_on():
            kind = choices.choice(kinds)
            self.count(kind.__name__, await kind(self, choices) or 1)

    async def well_behaved(self, choices):
        """Sends requests on one connection, as most clients do."""
        async with self.connected(GOOD_ADDRESS) as (reader, writer):
            while self.goes_on():
                request, expected = self.good_request(choices)
                writer.write(request)
                assert await answer(reader) == (200, expected)
                self.count("well_behaved")

    @contextlib.asynccontextmanager
    async def connected(self, address=BAD_ADDRESS):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(address, 0), limit=2**20
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def refused(self, request, status):
        """Sends a request that must be refused with this status."""
        async with self.connected() as (reader, writer):
            writer.write(request)
            received, body = await answer(reader)
            assert received == status, (request[:100], received, status, body)

    async def closed(self, reader):
        """Waits until the server closes the connection, and then a moment."""
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionResetError):
                while await reader.read(2**16):
                    pass
        await asyncio.sleep(PATIENCE / 4)


def memory(pid):
    """Returns the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def files(pid):
    """Returns the number of open file descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def hold(export, good_request, *arguments):
    """Serves an export to all clients, and checks answers, memory and files."""
    flags = f"--client_timeout_seconds={PATIENCE}", f"--max_connections={CONNECTIONS}", *arguments
    with served(export, *flags) as (process, address):
        until(lambda: get(address, "health")[0] == 200)
        files_before, start = files(process.pid), time.monotonic()
        drill = LoadDrill(process.pid, int(address.rpartition(":")[2]), good_request)
        asyncio.run(drill.run())
        until(lambda: files(process.pid) <= files_before)
        until(lambda: metric(address, "t2t_waiting_rows") == 0)
        after, before = memory(process.pid), drill.memory
        print(
            f"{drill.done:,} requests in {time.monotonic() - start:,.0f} s: "
            f"{dict(drill.counts.most_common())}; memory {before:,.0f} MB after {FIRST:,} "
            f"requests, {after:,.0f} MB at the end; {files_before} files"
        )
        assert get(address, "healthz") == (200, "ok\n")
        assert after < 1.05 * before
        assert "Traceback" not in process.errors()
        assert process.stop() == 0
