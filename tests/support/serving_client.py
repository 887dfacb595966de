"""A server of the tests' own SavedModel, and clients that ask it."""

import contextlib
import json
import re
import urllib.error
import urllib.request

from commands import running


@contextlib.contextmanager
def served(folder, *flags):
    """A server of a folder, and its address."""
    with running("serve", folder, "--port=0", *flags) as process:
        yield process, re.search(r"http://[^/]+", process.line()).group()


def predict(address, body, path="v1/models/backwards:predict", **headers):
    """Status and answer; `body` is what JSON makes of it, or bytes as they are."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return opened(urllib.request.Request(f"{address}/{path}", body, headers))


def get(address, path, method="GET"):
    return opened(urllib.request.Request(f"{address}/{path}", method=method))


def opened(request):
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(text, parse_constant=not_json) if is_json else text
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def not_json(word):
    raise AssertionError(f"{word} is not JSON")


def backwards(text, mark="v1:"):
    return " ".join([mark, *reversed(text.split())])


def figure(address, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", get(address, "metrics")[1], re.M)
    return float(found.group(1)) if found else 0.0
