"""Protection from web pages of other sites, which run in a browser that can reach the server.

Such a page can make the browser send requests here. If its own name resolves to this server's
address (DNS rebinding), it can even read the answers. Such requests name the page's site in the
headers Host or Origin. Pages of chosen sites may be allowed (CORS).
"""

import ipaddress
import re

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.model import can

ANY = "*"  # in place of the allowed origins
HOST = r"(([a-z\d_-]+\.)*[a-z\d_-]+|\[[\da-f:]+\])"
# Headers that pages of allowed sites may send, the methods, and the seconds for which that holds.
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key",
    "Access-Control-Max-Age": "86400",
}
OF_NO_OTHER_SITE = ("", "none", "same-origin")  # values of the header Sec-Fetch-Site


class Sites:
    """The names under which the server may be addressed.

    Args:
        address: the IP address on which the server listens. If it is reachable from the network,
            every host is allowed unless `names` are given.
        host: the address that the user gave, which may be a name. It is always allowed.
        names: further names that are allowed, besides localhost and IP addresses.
        origins: other sites whose pages may send requests, such as "https://example.com"; "*": all.
    """

    def __init__(self, address, host="", names=(), origins=()):
        names, origins = ({each.lower() for each in given} for given in (names, origins))
        hosts = "names such as example.com, without a port, and with non-ASCII letters as xn--…"
        sites = "* or sites, such as https://example.com or http://localhost:3000, without a path"
        for name in names:
            check_flag("allowed_hosts", name, rf"{HOST}\.?", hosts)
        for origin in origins:
            check_flag("allowed_origins", origin, rf"\{ANY}|https?://{HOST}(:\d+)?", sites)
        self.any_host = not (ipaddress.ip_address(address).is_loopback or names)
        self.origins, self.allowed = origins, {name.rstrip(".") for name in names}
        self.names = {host.lower().rstrip("."), *self.allowed}

    def check(self, request, computes=False):
        """Raises `Refusal` if the request names a different site; for `computes`, see `Route`."""
        given = (request.headers.get(name, "") for name in ("Host", "Origin", "Sec-Fetch-Site"))
        host, origin, site = given
        name = name_in(host)
        if host and not self.any_host and not self.is_own(name):
            raise Refusal(
                421,
                f"This server is not known as {name[:80]!r}. If it is, start it with "
                f"--allowed_hosts={name[:80]}",
            )
        if self.allows(origin) or (request.method in ("GET", "HEAD", "OPTIONS") and not computes):
            return
        sender = origin.partition("://")[2]
        # An image or a link of a page has no origin, but browsers tell its site.
        is_ours = sender.lower() == host.lower() or name_in(sender) in self.allowed
        if not (is_ours if origin else not computes or site in OF_NO_OTHER_SITE):
            raise Refusal(
                403,
                f"A web page of a different site, {(origin or site)[:80]!r}, sent this request. If "
                "the site is this server behind a proxy, start it with --allowed_hosts and the "
                f"site's name; otherwise, --allowed_origins={(origin or 'https://SITE')[:80]} lets "
                "its pages use the server",
            )

    def allows(self, origin):
        """Whether pages of this other site may use the server."""
        return bool(origin) and (ANY in self.origins or origin.lower() in self.origins)

    def headers(self, request):
        """Returns the headers of an answer that let pages of allowed sites read it."""
        origin = request.headers.get("Origin", "")
        found = {"Vary": "Origin"} if self.origins else {}
        if self.allows(origin):
            found["Access-Control-Allow-Origin"] = ANY if ANY in self.origins else origin
        return found

    def is_own(self, name):
        is_local = name.split(".")[-1] == "localhost"
        # An IP address cannot be the name of another site.
        return is_local or name in self.names or can(ipaddress.ip_address, name.strip("[]"))


def check_flag(flag, value, pattern, allowed):
    if not re.fullmatch(pattern, value):
        raise ValueError(f"--{flag} must be {allowed}. Received: {value[:80]!r}")


def name_in(host):
    """Returns the lower-case name in a Host header, without the port.

    >>> name_in("Example.com:8501"), name_in("[::1]:8501")
    ('example.com', '[::1]')
    """
    name, bracket, _ = host.lower().partition("]")
    return name + bracket if bracket else name.partition(":")[0].rstrip(".")
