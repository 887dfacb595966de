"""OPTIONS, HEAD and CORS on all routes."""

import urllib.error
import urllib.request

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine

SHOP = "https://shop.example.com"
QUERY = "/translate?q=a&source=en&target=de"


@pytest.fixture(scope="module")
def address():
    with serving(en_de=EchoEngine(), options={"origins": [SHOP]}) as address:
        yield address


def sent(address, method, path, data=None, **headers):
    """Returns the status, headers and body of an answer."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address + path, data, headers, method=method)
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
        ("/", "GET, HEAD, OPTIONS"),
    ):
        status, headers, body = sent(address, "OPTIONS", path)
        assert (status, headers["Allow"], body) == (204, methods, b"")
        assert sent(address, "PATCH", path)[1]["Allow"] == methods
    assert sent(address, "OPTIONS", "/nowhere")[0] == 404
    status, headers, body = sent(address, "HEAD", QUERY)
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 0


def test_pages_of_allowed_sites_may_use_the_server_and_no_others(address):
    asks = {"Access_Control_Request_Method": "POST"}
    status, headers, _ = sent(address, "OPTIONS", "/translate", Origin=SHOP, **asks)
    assert status == 204 and headers["Access-Control-Allow-Origin"] == SHOP
    assert "X-API-Key" in headers["Access-Control-Allow-Headers"]
    for method, path in (("POST", "/translate"), ("GET", QUERY), ("GET", "/languages")):
        data = b"q=a&source=en&target=de" if method == "POST" else None
        status, headers, _ = sent(address, method, path, data, Origin=SHOP)
        assert (status, headers["Access-Control-Allow-Origin"]) == (200, SHOP)
        status, headers, _ = sent(address, method, path, data, Origin="https://evil.com")
        assert status == (200 if path == "/languages" else 403)
        assert "Access-Control-Allow-Origin" not in headers
        assert headers["Vary"] == "Origin"
    _, headers, body = sent(address, "POST", "/translate", b"", Origin=SHOP)
    assert b"missing q" in body and headers["Access-Control-Allow-Origin"] == SHOP
    headers = sent(address, "OPTIONS", "/translate", Origin="https://evil.com", **asks)[1]
    assert "Access-Control-Allow-Methods" not in headers


def test_an_image_of_another_site_cannot_ask_for_a_translation(address):
    assert sent(address, "GET", QUERY, Sec_Fetch_Site="cross-site")[0] == 403
    assert sent(address, "GET", QUERY, Sec_Fetch_Site="same-origin")[0] == 200
    assert sent(address, "GET", "/healthz", Sec_Fetch_Site="cross-site")[0] == 200
    assert sent(address, "GET", "/languages", Host="evil.com", Origin=SHOP)[0] == 421


def test_all_sites_are_allowed_with_a_star():
    with serving(en_de=EchoEngine(), options={"origins": ["*"]}) as address:
        status, headers, _ = sent(address, "GET", QUERY, Origin="https://any.com")
        assert (status, headers["Access-Control-Allow-Origin"]) == (200, "*")
        assert sent(address, "GET", QUERY, Host="evil.com", Origin="https://any.com")[0] == 421
