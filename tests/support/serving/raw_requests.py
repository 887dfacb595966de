"""Requests as bytes, and answers from streams."""

import asyncio
import json

PATH = "/v1/models/backwards:predict"


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
