"""A server under 200,000 requests from well-behaved and hostile clients at once.

`T2T_DRILL_REQUESTS` is the number of requests, and `T2T_DRILL_SECONDS` ends the drill earlier; see
BUILD.md.
"""

import asyncio
import collections
import contextlib
import os
import random
import socket
import struct
import time
import urllib.parse
from pathlib import Path

import pytest
from support.serving.serving_client import answer, export_pair, get, metric, post, served, until

from t2t_keras.translating.exports import load_translator

pytestmark = pytest.mark.drill
REQUESTS = int(os.environ.get("T2T_DRILL_REQUESTS", 200_000))
SECONDS = float(os.environ.get("T2T_DRILL_SECONDS", "inf"))
# Requests until memory is measured for the first time: threads and buffers have grown by then.
FIRST = max(1000, REQUESTS // 5)
PATIENCE = 2  # seconds; `client_timeout_seconds` of the server
FLAGS = f"--client_timeout_seconds={PATIENCE}", "--max_connections=100"
WORDS = ["ein", "zwei", "drei", "é", "漢字", "😀", "dog"]
# An answer of about 3 MB, more than the operating system's buffers hold.
LARGE = post(
    {"signature_name": "attention", "inputs": {"text": ["a " * 100], "translation": ["a " * 100]}}
)
# {status: requests that get it}
WRONG = {
    400: [
        *map(post, (b"", b"[" * 5000, b'{"instances": ["\xff"]}', b"9" * 5000)),
        *(post({"instances": each}) for each in (5, "a", [None], [["a"]], [{"b64": "%"}], [])),
        *(b"\r\0\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n",  # TLS
    ],
    404: [post({"inputs": ["a"]}, path) for path in ("/v1/models/none:predict", "/../x", "/%00")],
    413: [post({"inputs": ["x" * 90_000]}), post(b"x" * 100_000, length=10**15)],
    421: [post({"inputs": ["a"]}, host="evil.com")],
}


class LoadDrill:
    """The clients of one server: methods that take a `random.Random`.

    Args:
        port: port of the server.
        good_request: function from a `random.Random` to a request and its expected answer.
        on_count: called with the number of requests so far.
    """

    def __init__(self, port, good_request, on_count):
        self.port, self.good_request, self.on_count = port, good_request, on_count
        self.counts, self.end = collections.Counter(), time.monotonic() + SECONDS

    async def run(self):
        """Sends each kind of request once, then all at once."""
        quick = [self.wrong, self.wrong, self.reset, self.pipelined]
        slow = [*[self.incomplete] * 60, self.never_reading]  # they keep the server waiting
        for kind in dict.fromkeys((self.well_behaved, *quick, *slow)):
            await kind(random.Random(0))
        async with asyncio.TaskGroup() as clients:
            for kinds, count in (([self.well_behaved], 32), (quick, 8), (slow, 120)):
                for seed in range(count):
                    choices = random.Random(f"{count} {seed}")
                    clients.create_task(self.repeat(kinds, choices))

    async def repeat(self, kinds, choices):
        while self.counts.total() < REQUESTS and time.monotonic() < self.end:
            kind = choices.choice(kinds)
            self.counts[kind.__name__] += await kind(choices) or 1
            self.on_count(self.counts.total())

    @contextlib.asynccontextmanager
    async def connected(self, address="127.0.0.2"):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(address, 0), limit=2**20
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def well_behaved(self, choices, at_once=1, address="127.0.0.1"):
        """Sends requests on one connection, as most clients do."""
        async with self.connected(address) as (reader, writer):
            for _ in range(50 // at_once):
                requests = [self.good_request(choices) for _ in range(at_once)]
                writer.write(b"".join(request for request, _ in requests))
                for _, expected in requests:
                    assert await answer(reader) == (200, expected)
        return 50

    async def pipelined(self, choices):
        """Sends 50 requests without waiting for the answers."""
        return await self.well_behaved(choices, at_once=50, address="127.0.0.2")

    async def wrong(self, choices):
        status = choices.choice([*WRONG])
        request = choices.choice(WRONG[status])
        async with self.connected() as (reader, writer):
            writer.write(request)
            received, body = await answer(reader)
            assert received == status, (request[:100], received, status, body)

    async def reset(self, choices):
        """Closes the connection with a reset, as the kernel does when a process is killed."""
        request = post({"inputs": ["a b"] * choices.randint(1, 50)})
        async with self.connected() as (_, writer):
            writer.write(request[: choices.choice([10, 120, len(request)])])
            await writer.drain()
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def incomplete(self, choices):
        """Sends nothing or a part of a request, until the server closes the connection."""
        request = post({"inputs": ["a"] * 50})
        async with self.connected("127.0.0.3") as (reader, writer), asyncio.timeout(60):
            writer.write(request[: choices.choice([0, choices.randint(1, 60), len(request) - 1])])
            with contextlib.suppress(ConnectionResetError):
                while await reader.read(2**16):
                    pass
            await asyncio.sleep(PATIENCE / 4)

    async def never_reading(self, choices):
        """Requests a large answer, and looks only later how much of it was sent."""
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.setblocking(False)
            sock.bind(("127.0.0.3", 0))
            await loop.sock_connect(sock, ("127.0.0.1", self.port))
            with contextlib.suppress(ConnectionError):
                await loop.sock_sendall(sock, LARGE)
                await asyncio.sleep(2 * PATIENCE)
                received = 0
                async with asyncio.timeout(60):
                    while piece := await loop.sock_recv(sock, 2**16):
                        received += len(piece)
                assert received < 2_000_000, "the rest was dropped"


def hold(export, good_request, *arguments):
    """Serves an export to all clients, and checks answers, memory and files."""
    with served(export, *FLAGS, *arguments) as (process, address):
        until(lambda: get(address, "health")[0] == 200)
        memory = []

        def measure(requests):
            if not memory and requests >= FIRST:
                memory.append(megabytes(process.pid))

        def files():
            return len(os.listdir(f"/proc/{process.pid}/fd"))

        before, start = files(), time.monotonic()
        drill = LoadDrill(int(address.rpartition(":")[2]), good_request, measure)
        asyncio.run(drill.run())
        until(lambda: files() <= before)
        until(lambda: metric(address, "t2t_waiting_rows") == 0)
        memory.append(megabytes(process.pid))
        print(f"{time.monotonic() - start:,.0f} s: {drill.counts}; MB, first and last: {memory}")
        assert get(address, "healthz") == (200, "ok\n")
        assert memory[-1] < 1.05 * memory[0]
        assert "Traceback" not in process.errors()
        assert process.stop() == 0


def megabytes(pid):
    """Returns the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def test_hostile_clients_harm_nobody(run, tmp_path):
    """The answers are those of the same model in this process, also to LibreTranslate's clients."""
    run.export(tmp_path / "backwards", "litert", extra_length=5)
    pair = export_pair(run, tmp_path, "en", "de")
    choices = random.Random(0)
    texts = [" ".join(choices.choices(WORDS, k=choices.randint(1, 6))) for _ in range(60)]
    found = load_translator(tmp_path / "backwards").best_of_each(texts)
    best = dict(zip(texts, found, strict=True))

    def good_request(choices):
        asked = choices.sample(texts, 3)
        if choices.random() < 0.5:
            query = urllib.parse.urlencode({"q": asked[0], "source": "en", "target": "de"})
            request = f"GET /translate?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            return request, {"translatedText": best[asked[0]].text}
        rows = [
            {"translations": best[text].text, "scores": pytest.approx(best[text].score, abs=1e-4)}
            for text in asked
        ]
        return post({"instances": asked}), {"predictions": rows}

    hold(f"backwards={tmp_path / 'backwards'}", good_request, pair)
