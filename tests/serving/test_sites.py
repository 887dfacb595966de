"""Pages of other sites cannot use the server."""

import types

import pytest

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.sites import Sites


def status(sites, method="GET", **headers):
    try:
        sites.check(types.SimpleNamespace(method=method, headers=headers))
    except Refusal as refusal:
        return refusal.status, refusal.message
    return 200, ""


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "LocalHost:8501",
            "page.localhost",
            "127.0.0.1:8501",
            "[::1]:8501",
            "10.0.0.7",
        ),
        *("given", "also.given:80", "also.given.", ""),
    ],
)
def test_own_names_and_addresses_are_allowed(host):
    assert status(Sites("127.0.0.1", "given", ["Also.Given"]), Host=host) == (200, "")


@pytest.mark.parametrize(
    "host", ["evil.com", "127.0.0.1.evil.com:8501", "localhost.evil.com", "[x]"]
)
def test_other_names_are_refused_and_the_flag_is_named(host):
    code, message = status(Sites("::1"), Host=host)
    assert code == 421
    assert "start it with --allowed_hosts=" in message


def test_a_server_that_the_network_can_reach_has_any_name_unless_names_are_given():
    assert status(Sites("0.0.0.0", "0.0.0.0"), Host="mt.example.com") == (200, "")
    assert status(Sites("0.0.0.0", "", ["mt.example.com"]), Host="mt.example.com") == (200, "")
    assert status(Sites("0.0.0.0", "", ["mt.example.com"]), Host="evil.com")[0] == 421


@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("127.0.0.1:8501", "http://127.0.0.1:8501", 200),
        ("127.0.0.1:8501", "https://given", 200),
        ("127.0.0.1:8501", "http://evil.com", 403),
        ("127.0.0.1:8501", "http://127.0.0.1:3000", 403),
        ("127.0.0.1:8501", "null", 403),
    ],
)
def test_only_its_own_pages_may_post(host, origin, expected):
    sites = Sites("127.0.0.1", "127.0.0.1", ["given"])
    assert status(sites, "POST", Host=host, Origin=origin)[0] == expected
    assert status(sites, "GET", Host=host, Origin=origin)[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        *("example.com", "https://a.com/", "null", "ftp://a.com", "", "*.a.com"),
        *("https://a..com", "https://a.com:99999", "https://bücher.de"),
    ],
)
def test_what_is_no_origin_is_refused(origin):
    with pytest.raises(ValueError, match="--allowed_origins must be"):
        Sites("127.0.0.1", origins=[origin])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("HTTPS://A.com:443", "https://a.com"),
        ("http://a.com:80", "http://a.com"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
def test_origins_are_compared_as_browsers_send_them(given, sent):
    assert Sites("127.0.0.1", origins=[given]).allows(sent)


@pytest.mark.parametrize("name", ["example.com:8501", "bücher.de", "a b", "", "https://a.com"])
def test_what_is_no_name_of_a_host_is_refused(name):
    with pytest.raises(ValueError, match="--allowed_hosts must be names"):
        Sites("127.0.0.1", names=[name])
