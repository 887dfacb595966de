"""A server under 200,000 requests from well-behaved and hostile clients at once.

`T2T_DRILL_REQUESTS` is the number of requests, and `T2T_DRILL_SECONDS` ends the drill earlier; see
BUILD.md.
"""

import asyncio
import collections
import contextlib
import json
import os
import random
import socket
import struct
import time
import urllib.parse
from pathlib import Path

import pytest
from support.serving.pair_export import export_pair
from support.serving.serving_client import backwards, get, metric, served, until

from t2t_keras.translating.find import load_translator

pytestmark = pytest.mark.drill

REQUESTS = int(os.environ.get("T2T_DRILL_REQUESTS", 200_000))
SECONDS = float(os.environ.get("T2T_DRILL_SECONDS", "inf"))
# Requests until memory is measured for the first time: threads and buffers have grown by then.
FIRST = max(1000, REQUESTS // 5)
PATIENCE, CONNECTIONS = 2, 100
GOOD, BAD, WAITING = 32, 8, 120  # clients at the same time; WAITING: they keep the server waiting
GOOD_ADDRESS, BAD_ADDRESS, WAITING_ADDRESS = "127.0.0.1", "127.0.0.2", "127.0.0.3"
PATH = "/v1/models/backwards:predict"
# An answer of about 3 MB, more than the operating system's buffers hold.
LARGE = {
    "signature_name": "attention",
    "inputs": {"text": ["a " * 100], "translation": ["a " * 100]},
}


class Near:
    """Equals an answer with the text of a `Translation`, and almost its score."""

    def __init__(self, translation):
        self.translation = translation

    def __eq__(self, answer):
        score = pytest.approx(self.translation.score, abs=1e-4)
        return answer == {"translations": self.translation.text, "scores": score}


class Drill:
    """The clients of one server.

    Args:
        port: the server's port.
        good_request: function from a `random.Random` to a request and its expected answer.
    """

    def __init__(self, port, good_request):
        self.port, self.good_request = port, good_request
        self.done, self.counts = 0, collections.Counter()
        self.first, self.end = asyncio.Event(), time.monotonic() + SECONDS

    def goes_on(self):
        return self.done < REQUESTS and time.monotonic() < self.end

    def count(self, kind, requests=1):
        self.done += requests
        self.counts[kind] += requests
        if self.done >= FIRST:
            self.first.set()

    async def run(self):
        """Sends each kind of request once, then all at once."""
        for kind in (*QUICK, *dict.fromkeys(SLOW)):
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
            assert received == status, (received, status, body)

    async def closed(self, reader):
        """Waits until the server closes the connection, and then a moment."""
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionResetError):
                while await reader.read(2**16):
                    pass
        await asyncio.sleep(PATIENCE / 4)


async def answer(reader):
    """Returns the status and the parsed body of an answer."""
    async with asyncio.timeout(60):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        body = await reader.readexactly(length)
    is_json = "content-type: application/json" in head
    return int(head.split()[1]), json.loads(body) if is_json else body


def post(body, path=PATH, length=None, host="localhost"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


def good_request(choices):
    """Returns a request and its expected answer."""
    words = ["ein", "zwei", "drei", "é", "漢字", "😀", "dog"]
    texts = [
        " ".join(choices.choices(words, k=choices.randint(1, 30)))
        for _ in range(choices.randint(1, 4))
    ]
    kind = choices.random()
    if kind < 0.05:
        return b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"ok\n"
    if kind < 0.2:
        rows = [{"source": text, "target": "ab"} for text in texts]
        scores = [-float(len(text.encode()) + 2) for text in texts]
        return post({"signature_name": "score", "instances": rows}), {"predictions": scores}
    columns = {
        "translations": [backwards(text) for text in texts],
        "scores": [-0.1] * len(texts),
    }
    return post({"inputs": texts}), {"outputs": columns}


async def reset(drill, choices):
    """Closes the connection with a reset, as the kernel does when a process is killed."""
    request = post({"inputs": ["a b"] * choices.randint(1, 50)})
    async with drill.connected() as (_, writer):
        writer.write(request[: choices.choice([10, 120, len(request)])])
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def huge_body(drill, choices):
    await drill.refused(post(b"x" * 100_000, length=10 ** choices.randint(7, 15)), 413)


async def endless_body(drill, choices):
    """Sends chunks until the server answers."""
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    async with drill.connected() as (reader, writer):
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        answered = asyncio.create_task(answer(reader))
        with contextlib.suppress(ConnectionError):
            while not answered.done():
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(0)
        assert (await answered)[0] == 413


async def malformed_body(drill, choices):
    bodies = b"", b"[" * 5000, b'{"instances": ["\xff"]}', b"9" * 5000, b"\0" * 99, b'{"inputs": '
    await drill.refused(post(choices.choice(bodies)), 400)


async def malformed_http(drill, choices):
    requests = (
        *(b"\r\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9.9\r\n\r\n"),
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n",  # TLS
    )
    await drill.refused(choices.choice(requests), 400)


async def wrong_types(drill, choices):
    values = 5, None, "a", {"a": 1}, [5], [None], [["a"]], [{"b64": "%"}], [], [True], ["a", ["b"]]
    await drill.refused(post({"instances": choices.choice(values)}), 400)


async def unknown_path(drill, choices):
    paths = "/v1/models/none:predict", "/../../etc/passwd", "/%00", f"/{choices.random()}"
    await drill.refused(post({"inputs": ["a"]}, choices.choice(paths)), 404)


async def too_long(drill, choices):
    await drill.refused(post({"inputs": ["x" * choices.randint(4001, 90_000)]}), 413)


async def foreign_host(drill, choices):
    await drill.refused(post({"inputs": ["a"]}, host=f"{choices.randint(0, 10**9)}.com"), 421)


async def pipelined(drill, choices):
    """Sends 50 requests without waiting for the answers."""
    requests = [drill.good_request(choices) for _ in range(50)]
    async with drill.connected() as (reader, writer):
        writer.write(b"".join(request for request, _ in requests))
        for _, expected in requests:
            assert await answer(reader) == (200, expected)
    return len(requests)


async def silent(drill, choices):
    async with drill.connected(WAITING_ADDRESS) as (reader, _):
        await drill.closed(reader)


async def half_headers(drill, choices):
    async with drill.connected(WAITING_ADDRESS) as (reader, writer):
        writer.write(post({"inputs": ["a"]})[: choices.randint(1, 60)])
        await drill.closed(reader)


async def half_body(drill, choices):
    async with drill.connected(WAITING_ADDRESS) as (reader, writer):
        writer.write(post({"inputs": ["a"] * 50})[:-1])
        await drill.closed(reader)


async def byte_a_second(drill, choices):
    request = post({"inputs": ["a"]})

    async def drip(writer):
        for byte in request:
            writer.write(bytes([byte]))
            await asyncio.sleep(1)

    async with drill.connected(WAITING_ADDRESS) as (reader, writer):
        dripping = asyncio.create_task(drip(writer))
        await drill.closed(reader)
        dripping.cancel()


async def never_reading(drill, choices):
    """Requests a large answer, and looks only later how much of it was sent."""
    loop = asyncio.get_running_loop()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        sock.bind((WAITING_ADDRESS, 0))
        await loop.sock_connect(sock, ("127.0.0.1", drill.port))
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(sock, post(LARGE))
            await asyncio.sleep(2 * PATIENCE)
            received = 0
            async with asyncio.timeout(60):
                while piece := await loop.sock_recv(sock, 2**16):
                    received += len(piece)
            assert received < 2_000_000, "the rest was dropped"


QUICK = [
    *(reset, huge_body, endless_body, malformed_body, malformed_http, wrong_types, unknown_path),
    *(too_long, foreign_host, pipelined),
]
SLOW = [*[silent, half_headers, half_body, byte_a_second] * 20, never_reading]


def memory(pid):
    """Returns the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def files(pid):
    """Returns the number of open file descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_hostile_clients_harm_nobody(backwards_export):
    hold(backwards_export, good_request)


def test_hostile_clients_harm_nobody_on_litert(run, tmp_path):
    """The answers are those of the same model in this process, where each text is alone.

    Two models are served, and half of the requests are those of LibreTranslate's clients.
    """
    run.export(tmp_path / "backwards", "litert", extra_length=5)
    pair = export_pair(run, tmp_path, "en", "de")
    translator = load_translator(tmp_path / "backwards")
    words, choices = ["dog", "The cat sleeps.", "zwei", "漢字", "😀"], random.Random(0)
    texts = [" ".join(choices.choices(words, k=choices.randint(1, 6))) for _ in range(60)]
    table = [(post({"instances": texts[i : i + 3]}), texts[i : i + 3]) for i in range(57)]
    found = translator.best_of_each(texts)
    expected = {text: Near(each) for text, each in zip(texts, found, strict=True)}
    others = [*libretranslate_requests(translator, texts)]

    def good_request(choices):
        if choices.random() < 0.5:
            return choices.choice(others)
        request, asked = choices.choice(table)
        return request, {"predictions": [expected[text] for text in asked]}

    hold(f"backwards={tmp_path / 'backwards'}", good_request, pair)


def libretranslate_requests(translator, texts):
    """Yields requests of texts, lists, HTML and alternatives, with their expected answers."""
    kind = b"Content-Length", b"Content-Type: application/json\r\nContent-Length"
    html = [f"<p>The <b>dog</b> {n} sleeps.</p>" for n in range(20)]
    marked = dict(zip(html, translator.translate(html, markup="html"), strict=True))
    best = dict(zip(texts, translator.translate(texts), strict=True))
    lists = translator.translations(texts[:20], n_best=3)
    more = {
        text: [*dict.fromkeys(each.text for each in of_text)]
        for text, of_text in zip(texts, lists, strict=False)
    }
    pair = {"source": "en", "target": "de"}
    for i in range(57):
        body = {"q": texts[i : i + 3], **pair}
        answer = {"translatedText": [best[text] for text in body["q"]]}
        yield post(body, "/translate").replace(*kind), answer
        query = urllib.parse.urlencode({"q": texts[i], **pair}).encode()
        request = b"GET /translate?" + query + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        yield request, {"translatedText": best[texts[i]]}
    for text, translation in marked.items():
        body = {"q": text, "format": "html", "source": "auto", "target": "de"}
        detected = {"confidence": 100.0, "language": "en"}
        answer = {"translatedText": translation, "detectedLanguage": detected}
        yield post(body, "/translate").replace(*kind), answer
    for text, (first, *others) in more.items():
        body = {"q": text, "alternatives": 2, **pair}
        answer = {"translatedText": first, "alternatives": [each for each in others if each]}
        yield post(body, "/translate").replace(*kind), answer


def hold(export, good_request, *arguments):
    """Serves an export to all clients, and checks answers, memory and files."""
    flags = f"--client_timeout_seconds={PATIENCE}", f"--max_connections={CONNECTIONS}", *arguments
    with served(export, *flags) as (process, address):
        until(lambda: get(address, "healthz")[0] == 200)
        files_before, start = files(process.pid), time.monotonic()
        samples = []

        async def run():
            drill = Drill(int(address.rpartition(":")[2]), good_request)
            running = asyncio.create_task(drill.run())
            waiting = asyncio.create_task(drill.first.wait())
            await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
            while not running.done():
                samples.append((drill.done, memory(process.pid)))
                await asyncio.wait([running], timeout=10)
                print(
                    f"{drill.done:,} requests, {time.monotonic() - start:,.0f} s, "
                    f"{memory(process.pid):,.0f} MB, {files(process.pid)} files",
                    flush=True,
                )
            await running
            return drill

        drill = asyncio.run(run())
        until(lambda: files(process.pid) <= files_before)
        until(lambda: metric(address, "t2t_waiting_rows") == 0)
        after, before = memory(process.pid), samples[0][1]
        print(
            f"{drill.done:,} requests in {time.monotonic() - start:,.0f} s: "
            f"{dict(drill.counts.most_common())}; memory {before:,.0f} MB after "
            f"{samples[0][0]:,} requests, {after:,.0f} MB at the end; {files_before} files"
        )
        assert get(address, "healthz") == (200, "ok\n")
        assert after < 1.05 * before
        assert "Traceback" not in process.errors()
        assert process.stop() == 0
