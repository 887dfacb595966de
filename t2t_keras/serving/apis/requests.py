"""The requests of a server: reads their bodies within the limits, and ends them when it stops."""

import asyncio
import contextlib

from aiohttp import web

from t2t_keras.serving.connections import Connection
from t2t_keras.serving.limits import Refusal

CONNECTION = web.RequestKey("connection", Connection)


class Requests:
    """The requests that a server has received and not yet answered.

    Args:
        limits: `Limits`.
    """

    def __init__(self, limits):
        self.limits, self.stop = limits, asyncio.Event()
        self.in_flight, self.idle = 0, asyncio.Event()
        self.idle.set()

    def check_open(self):
        if self.stop.is_set():
            raise Refusal(503, "The server is stopping")

    @contextlib.contextmanager
    def computing(self):
        """Counts a request as in flight. The server stops only after it is answered."""
        self.check_open()
        self.in_flight += 1
        self.idle.clear()
        try:
            yield
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self.idle.set()

    async def body(self, request):
        """Reads the body of a request within the limits on its size and time.

        Connections beyond the limit are only for requests that ask for the status.
        """
        connection = request[CONNECTION]
        if connection.reserved:
            raise Refusal(503, "All connections of the server are busy. Try again in a moment")
        connection.wait_for_client(timed=False)
        try:
            async with asyncio.timeout(self.limits.client_timeout_seconds):
                return await self.read(request, connection)
        except TimeoutError:
            raise Refusal(408, "The request did not arrive in time") from None
        finally:
            connection.work()

    async def read(self, request, connection):
        limit = self.limits.max_body_bytes
        too_large = Refusal(
            413, f"A request may have at most {limit:,} bytes (--max_body_bytes of the server)"
        )
        if (request.content_length or 0) > limit:
            raise too_large
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > limit:
                raise too_large
            connection.hold(len(chunk))
        return body
