"""A server in a process, and client functions that send it requests, parsed or as bytes."""

import asyncio
import contextlib
import json
import re
import time
import urllib.error
import urllib.request

from support.processes.commands import running

from pipelines.atomic_files import read_json, write_json
from t2t_keras.translating.exports import RECORD

PATH = "/v1/models/backwards:predict"


@contextlib.contextmanager
def served(folder, *flags):
    """Runs a server of a folder and yields its process and address."""
    with running("serve", folder, "--port=0", *flags) as process:
        yield process, re.search(r"http://[^/]+", process.line()).group()


def predict(address, body, path=PATH[1:], seconds=60, **headers):
    """Posts `body`, bytes or a value for JSON, and returns the status and the parsed answer."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return opened(urllib.request.Request(f"{address}/{path}", body, headers), seconds)


def get(address, path, method="GET"):
    return opened(urllib.request.Request(f"{address}/{path}", method=method))


def opened(request, seconds=60):
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            text = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(text, parse_constant=not_json) if is_json else text
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def not_json(word):
    raise AssertionError(f"{word} is not JSON")


def metric(address, name):
    """Returns the value of a metric, with its labels in `name`; 0 if it is absent."""
    match = re.search(rf"^{re.escape(name)} (\S+)$", get(address, "metrics")[1], re.M)
    return float(match.group(1)) if match else 0.0


def until(condition, seconds=60):
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition does not hold in time"
        time.sleep(0.05)


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


def export_pair(run, folder, source, target):
    """Exports a run as LiteRT for a pair of languages; returns its argument of t2t-serve."""
    export = folder / f"{source}-{target}"
    run.export(export, "litert", extra_length=5)
    record = export / "1" / RECORD
    write_json(record, read_json(record) | {"languages": [source, target]})
    return f"{export.name}={export}"
