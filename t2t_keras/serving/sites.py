"""Protection from web pages of other sites, which run in a browser that can reach the server.

Such a page can make the browser send requests here. If its own name resolves to this server's
address (DNS rebinding), it can even read the answers. Such requests name the page's site in the
headers Host or Origin.
"""

import ipaddress

from t2t_keras.serving.limits import Refusal


class Sites:
    """The names under which the server may be addressed.

    Args:
        address: the IP address on which the server listens. If it is reachable from the network,
            every host is allowed unless `names` are given.
        host: the address that the user gave, which may be a name. It is always allowed.
        names: further names that are allowed, besides localhost and IP addresses.
    """

    def __init__(self, address, host="", names=()):
        self.any_host = not (ipaddress.ip_address(address.partition("%")[0]).is_loopback or names)
        self.allowed = {name.lower().rstrip(".") for name in names}
        self.names = {host.lower().rstrip("."), *self.allowed}

    def check(self, request):
        """Raises `Refusal` if the request names a different site."""
        host, origin = (request.headers.get(name, "") for name in ("Host", "Origin"))
        if host and not self.any_host and not self.is_own(host):
            raise Refusal(
                421,
                f"This server is not known as {name_in(host)[:80]!r}. If it is, start it with "
                f"--allowed_hosts={name_in(host)[:80]}",
            )
        if request.method in ("GET", "HEAD", "OPTIONS") or not origin:
            return
        sender = origin.partition("://")[2]
        if sender.lower() != host.lower() and name_in(sender) not in self.allowed:
            raise Refusal(
                403,
                f"A web page of a different site, {origin[:80]!r}, sent this request. If the site "
                "is this server behind a proxy, start it with --allowed_hosts and the site's name",
            )

    def is_own(self, host):
        name = name_in(host)
        return (
            name in self.names or name.split(".")[-1] == "localhost" or is_address(name.strip("[]"))
        )


def name_in(host):
    """Returns the lower-case name in a Host header, without the port.

    >>> name_in("Example.com:8501"), name_in("[::1]:8501")
    ('example.com', '[::1]')
    """
    name, bracket, _ = host.lower().partition("]")
    return name + bracket if bracket else name.partition(":")[0].rstrip(".")


def is_address(name):
    """Whether a name is an IP address, which cannot be the name of another site."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
