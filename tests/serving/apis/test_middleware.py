"""OPTIONS, HEAD and CORS on all routes."""

import urllib.error
import urllib.request

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine

SHOP, EVIL = "https://shop.example.com", "https://evil.com"
QUERY = "/translate?q=a&source=en&target=de"
PREFLIGHT = {"Access-Control-Request-Method": "POST"}
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture(scope="module")
def address():
    with serving(en_de=EchoEngine(), options={"origins": [SHOP]}) as address:
        yield address


def sent(address, method, path, headers=None, data=None):
    """Returns the status, headers and body of an answer."""
    request = urllib.request.Request(address + path, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_options_and_head_behave_as_http_says(address):
    for path, methods in (
        ("/translate", "GET, HEAD, OPTIONS, POST"),
        ("/v1/models/en-de:predict", "OPTIONS, POST"),
    ):
        status, headers, body = sent(address, "OPTIONS", path)
        assert (status, headers["Allow"], body) == (204, methods, b"")
        assert sent(address, "PATCH", path)[1]["Allow"] == methods
    assert sent(address, "OPTIONS", "/nowhere")[0] == 404
    status, headers, body = sent(address, "HEAD", QUERY)
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 0


def test_pages_of_allowed_sites_may_use_the_server_and_no_others(address):
    shop, evil = {"Origin": SHOP}, {"Origin": EVIL}
    status, headers, _ = sent(address, "OPTIONS", "/translate", shop | PREFLIGHT)
    assert (status, headers[ALLOWED]) == (204, SHOP)
    assert "X-API-Key" in headers["Access-Control-Allow-Headers"]
    headers = sent(address, "OPTIONS", "/translate", evil | PREFLIGHT)[1]
    assert "Access-Control-Allow-Methods" not in headers
    for method, path in (("POST", "/translate"), ("GET", QUERY), ("GET", "/languages")):
        data = b"q=a&source=en&target=de" if method == "POST" else None
        status, headers, _ = sent(address, method, path, shop, data)
        assert (status, headers[ALLOWED]) == (200, SHOP)
        status, headers, _ = sent(address, method, path, evil, data)
        assert status == (200 if path == "/languages" else 403)
        assert (headers.get(ALLOWED), headers["Vary"]) == (None, "Origin")
    _, headers, body = sent(address, "POST", "/translate", shop, b"")
    assert b"missing q" in body and headers[ALLOWED] == SHOP
    assert sent(address, "GET", "/languages", shop | {"Host": "evil.com"})[0] == 421


def test_an_image_of_another_site_cannot_ask_for_a_translation(address):
    for site, path, status in (
        ("cross-site", QUERY, 403),
        ("same-origin", QUERY, 200),
        ("cross-site", "/healthz", 200),
    ):
        assert sent(address, "GET", path, {"Sec-Fetch-Site": site})[0] == status


def test_all_sites_are_allowed_with_a_star():
    with serving(en_de=EchoEngine(), options={"origins": ["*"]}) as address:
        status, headers, _ = sent(address, "GET", QUERY, {"Origin": EVIL})
        assert (status, headers[ALLOWED]) == (200, "*")
        assert sent(address, "GET", QUERY, {"Host": "evil.com", "Origin": EVIL})[0] == 421
