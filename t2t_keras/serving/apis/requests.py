"""Bodies of requests, read within the limits on their size, time and memory."""

import asyncio

from aiohttp import web

from t2t_keras.serving.connections import Connection
from t2t_keras.serving.limits import Refusal

CONNECTION = web.RequestKey("connection", Connection)


async def body_of(request, limits):
    """Returns the body of a request as bytes.

    Connections beyond the limit are only for requests that ask for the status.
    """
    connection = request[CONNECTION]
    if connection.reserved:
        raise Refusal(503, "All connections of the server are busy. Try again in a moment")
    connection.wait_for_client(timed=False)
    try:
        async with asyncio.timeout(limits.client_timeout_seconds):
            return await read(request, connection, limits.max_body_bytes)
    except TimeoutError:
        raise Refusal(408, "The request did not arrive in time") from None
    finally:
        connection.work()


async def read(request, connection, most):
    too_large = Refusal(
        413, f"A request may have at most {most:,} bytes (--max_body_bytes of the server)"
    )
    if (request.content_length or 0) > most:
        raise too_large
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > most:
            raise too_large
        connection.hold(len(chunk))
    return body
