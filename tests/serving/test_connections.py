"""Clients that send nothing or never read cost neither connections nor memory for long.

When the server stops, it answers the requests in flight.
"""

import asyncio
import contextlib
import functools
import json
import resource
import signal
import socket

import pytest
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import answer, post

from t2t_keras.serving import server as server_module
from t2t_keras.serving.connections import affordable, client_of
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.server import Server
from t2t_keras.serving.versions import ModelSource
from t2t_keras.translating.exports import versions_in

# An answer of about 3 MB, more than the buffers of the operating system hold.
LARGE = post(
    {"signature_name": "attention", "inputs": {"text": ["a " * 100], "translation": ["a " * 100]}}
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def serve(tmp_path):
    """A function that serves in this process while a coroutine runs.

    It takes the coroutine function, which is called with the server, an engine, and limits.
    """
    (tmp_path / "1").mkdir()

    def run(clients, engine=None, **limits):
        async def whole():
            sock = socket.create_server(("127.0.0.1", 0))
            find = functools.partial(versions_in, tmp_path)
            source = ModelSource("backwards", find, lambda folder: engine or EchoEngine())
            server = Server([source], Limits(**limits), tuple)
            server.port, ready = sock.getsockname()[1], asyncio.Event()
            running = asyncio.create_task(server.run(sock, lambda name, version: ready.set()))
            try:
                async with asyncio.timeout(60):
                    await ready.wait()
                    await clients(server)
            finally:
                server.stop.set()
                await running

        asyncio.run(whole())

    return run


@contextlib.asynccontextmanager
async def connected(server, data=b"", receive_buffer=None):
    """Yields a connection that has sent `data`: its reader and writer."""
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=2**16)
    writer.write(data)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answered(server, request):
    """Returns the status and the body."""
    async with connected(server, request) as (reader, _):
        return await answer(reader)


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def test_connections_that_keep_the_server_waiting_are_closed(serve, caplog):
    async def clients(server):
        async with (
            connected(server) as silent,
            connected(server, HEALTH[:40]) as half,
            connected(server) as slow,
            connected(server, HEALTH) as kept_alive,
            connected(server, b"nonsense\r\n\r\n") as malformed,
            connected(server, LARGE[:-1]) as half_body,
            connected(server, LARGE, receive_buffer=4096),  # does not read the answer
        ):

            async def drip():
                for byte in HEALTH * 9:
                    slow[1].write(bytes([byte]))
                    await asyncio.sleep(0.03)

            dripping = asyncio.create_task(drip())
            await until(lambda: server.connections.held > 1_000_000)
            assert (await answered(server, HEALTH))[0] == 200
            for reader, _ in (silent, half, half_body, slow, kept_alive, malformed):
                with contextlib.suppress(ConnectionError):
                    await reader.read(-1)  # ends when the server closes the connection
            dripping.cancel()
            await until(lambda: not server.connections.open)
        assert server.connections.held == 0

    serve(clients, client_timeout_seconds=0.4)
    logged = [record for record in caplog.records if record.name != "asyncio"]  # the clients'
    assert not logged, "malformed requests do not fill the log"


@pytest.mark.long
def test_a_client_that_reads_slowly_gets_the_whole_answer(serve):
    async def clients(server):
        async with connected(server, LARGE, receive_buffer=4096) as (reader, _):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size, text = int(head.lower().partition("content-length: ")[2].split()[0]), b""
            while len(text) < size:
                text += await reader.read(2**16)
                if len(text) < 1_000_000:
                    await asyncio.sleep(0.1)
        assert len(json.loads(text)["outputs"]["encoder"][0][0][0]) == 101

    serve(clients, client_timeout_seconds=1)


def test_answers_that_nobody_reads_make_room_for_other_requests(serve):
    async def clients(server):
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(connected(server, LARGE, receive_buffer=4096))
                await until(lambda: server.connections.held > 2_000_000)
                await until(lambda: all(c.waiting_since for c in server.connections.open))
                assert server.connections.held <= 6_000_000
            assert (await answered(server, LARGE))[0] == 200

    serve(clients, max_memory_mb=6)


def test_a_request_that_needs_too_much_memory_is_refused(serve):
    async def clients(server):
        status, body = await answered(server, LARGE)
        assert status == 503 and "need more than 3 MB" in body["error"]
        await until(lambda: server.connections.held == 0)

    serve(clients, max_memory_mb=3)


def test_bodies_that_are_still_arriving_count_as_memory(serve):
    async def clients(server):
        unfinished = post({"instances": ["x" * 900_000]})[:-1]
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(5):
                await stack.enter_async_context(connected(server, unfinished))
            await until(lambda: len(server.connections.open) == 2)  # the others made room
            assert server.connections.held <= 2_000_000

    serve(clients, max_memory_mb=2)


def test_new_connections_replace_those_that_wait_longest(serve):
    async def clients(server):
        async with contextlib.AsyncExitStack() as stack:
            silent = [await stack.enter_async_context(connected(server)) for _ in range(9)]
            assert (await answered(server, HEALTH))[0] == 200
            assert len(server.connections.open) <= 4
            with contextlib.suppress(ConnectionResetError):
                assert await silent[0][0].read(-1) == b""
            reader, writer = silent[8]
            writer.write(HEALTH)
            assert (await answer(reader))[0] == 200

    serve(clients, max_connections=4)


def test_requests_in_flight_are_answered_when_the_server_stops(serve):
    engine = EchoEngine()
    engine.may_go_on.clear()

    async def clients(server):
        async with connected(server, post({"instances": ["a"] * 40})) as (reader, _):
            await until(lambda: server.batcher.rows)
            server.on_signal(signal.SIGINT)
            await asyncio.sleep(0.1)
            with pytest.raises(ConnectionError):
                socket.create_connection(("127.0.0.1", server.port), 5)
            engine.may_go_on.set()
            status, body = await answer(reader)
            assert status == 200 and len(body["predictions"]) == 40

    serve(clients, engine)


def test_a_second_signal_ends_the_server_at_once(serve, monkeypatch):
    codes = []
    monkeypatch.setattr(server_module.os, "_exit", codes.append)

    async def clients(server):
        server.on_signal(signal.SIGTERM)
        assert not codes
        server.on_signal(signal.SIGTERM)

    serve(clients)
    assert codes == [128 + signal.SIGTERM]


def test_open_files_limit_the_connections(monkeypatch, caplog):
    changed = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: changed.append(limits))

    def limits(*files):
        monkeypatch.setattr(resource, "getrlimit", lambda kind: files)
        return affordable(1000)

    assert limits(resource.RLIM_INFINITY, resource.RLIM_INFINITY) == limits(1100, 1100) == 1000
    assert limits(1024, 4096) == limits(1024, resource.RLIM_INFINITY) == 1000
    assert changed == [(1100, 4096), (1100, resource.RLIM_INFINITY)] and not caplog.records
    assert limits(512, 1024) == 924 and "--max_connections is lower" in caplog.text


@pytest.mark.parametrize(
    ("address", "client"),
    [
        (("10.0.0.1", 5), "10.0.0.1"),
        (("::ffff:10.0.0.1", 5, 0, 0), "10.0.0.1"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_a_client_is_an_ipv4_address_or_an_ipv6_network(address, client):
    assert client_of(address) == client
