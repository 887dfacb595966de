"""Pages of other sites cannot use the server."""

import types

import pytest

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.sites import Sites


def status(sites, method="GET", **headers):
    """Returns the status of an answer, and the message of a refusal."""
    try:
        sites.check(types.SimpleNamespace(method=method, headers=headers))
    except Refusal as refusal:
        return refusal.status, refusal.message
    return 200, ""


def test_own_names_and_addresses_are_allowed_and_other_names_refused():
    sites = Sites("127.0.0.1", "given", ["Also.Given"])
    for host in (
        *("localhost", "LocalHost:8501", "page.localhost", "127.0.0.1:8501", "[::1]:8501", ""),
        *("10.0.0.7", "given", "also.given:80", "also.given."),
    ):
        assert status(sites, Host=host) == (200, "")
    for host in ("evil.com", "127.0.0.1.evil.com:8501", "localhost.evil.com", "[x]"):
        code, message = status(Sites("::1"), Host=host)
        assert code == 421 and "start it with --allowed_hosts=" in message


def test_a_server_that_the_network_can_reach_has_any_name_unless_names_are_given():
    assert status(Sites("0.0.0.0", "0.0.0.0"), Host="mt.example.com") == (200, "")
    assert status(Sites("0.0.0.0", "", ["mt.example.com"]), Host="mt.example.com") == (200, "")
    assert status(Sites("0.0.0.0", "", ["mt.example.com"]), Host="evil.com")[0] == 421
    assert status(Sites("fe80::1%eth0"), Host="mt.example.com") == (200, "")


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8501", 200),
        ("https://given", 200),
        ("http://evil.com", 403),
        ("http://127.0.0.1:3000", 403),
        ("null", 403),
    ],
)
def test_only_its_own_pages_may_post(origin, expected):
    sites = Sites("127.0.0.1", "127.0.0.1", ["given"])
    headers = {"Host": "127.0.0.1:8501", "Origin": origin}
    code, message = status(sites, "POST", **headers)
    assert (code, "--allowed_hosts" in message) == (expected, expected == 403)
    assert status(sites, "GET", **headers)[0] == 200


def test_origins_are_compared_as_browsers_send_them_and_wrong_sites_refused():
    for given, sent in (
        ("HTTPS://A.com", "https://a.com"),
        ("http://[::1]:65535", "http://[::1]:65535"),
    ):
        sites = Sites("127.0.0.1", origins=[given])
        assert sites.allows(sent) and not sites.allows("") and not sites.allows(sent + "0")
        assert status(sites, "POST", Host="localhost", Origin=sent) == (200, "")
    for wrong in (
        *("example.com", "https://a.com/", "null", "ftp://a.com", "", "*.a.com"),
        *("https://a..com", "https://bücher.de"),
    ):
        with pytest.raises(ValueError, match="--allowed_origins must be"):
            Sites("127.0.0.1", origins=[wrong])
    for wrong in ("example.com:8501", "bücher.de", ""):
        with pytest.raises(ValueError, match="--allowed_hosts must be names"):
            Sites("127.0.0.1", names=[wrong])
