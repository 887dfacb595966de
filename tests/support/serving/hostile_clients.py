"""Clients that do a server harm, or mean to: functions of a `LoadDrill` and a `random.Random`.

Those of `SLOW` keep the server waiting. A client returns the number of its requests if it sends
several.
"""

import asyncio
import contextlib
import socket
import struct

from support.serving.raw_requests import answer, post

PATIENCE = 2  # seconds; `client_timeout_seconds` of the server
WAITING_ADDRESS = "127.0.0.3"
# An answer of about 3 MB, more than the operating system's buffers hold.
LARGE = {
    "signature_name": "attention",
    "inputs": {"text": ["a " * 100], "translation": ["a " * 100]},
}
# {status: requests that get it}
WRONG = {
    400: [
        *map(post, (b"", b"[" * 5000, b'{"instances": ["\xff"]}', b"9" * 5000, b"\0" * 99)),
        *(post({"instances": each}) for each in (5, "a", [None], [["a"]], [{"b64": "%"}], [])),
        *(b"\r\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9.9\r\n\r\n"),
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n",  # TLS
    ],
    404: [post({"inputs": ["a"]}, path) for path in ("/v1/models/none:predict", "/../x", "/%00")],
    413: [post({"inputs": ["x" * 90_000]}), post(b"x" * 100_000, length=10**15)],
    421: [post({"inputs": ["a"]}, host="evil.com")],
}


async def wrong(drill, choices):
    status = choices.choice([*WRONG])
    await drill.refused(choices.choice(WRONG[status]), status)


async def reset(drill, choices):
    """Closes the connection with a reset, as the kernel does when a process is killed."""
    request = post({"inputs": ["a b"] * choices.randint(1, 50)})
    async with drill.connected() as (_, writer):
        writer.write(request[: choices.choice([10, 120, len(request)])])
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def pipelined(drill, choices):
    """Sends 50 requests without waiting for the answers."""
    requests = [drill.good_request(choices) for _ in range(50)]
    async with drill.connected() as (reader, writer):
        writer.write(b"".join(request for request, _ in requests))
        for _, expected in requests:
            assert await answer(reader) == (200, expected)
    return len(requests)


async def incomplete(drill, choices):
    """Sends nothing or a part of a request."""
    request = post({"inputs": ["a"] * 50})
    async with drill.connected(WAITING_ADDRESS) as (reader, writer):
        writer.write(request[: choices.choice([0, choices.randint(1, 60), len(request) - 1])])
        await drill.closed(reader)


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


QUICK = [wrong, wrong, reset, pipelined]
SLOW = [*[incomplete] * 60, never_reading]
