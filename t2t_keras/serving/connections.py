"""Limits on the number, the waiting time and the memory of a server's connections.

A client that neither sends nor reads costs a file descriptor and memory. So each wait for a client
has a time limit. If connections or memory run out earlier, connections that have waited long for
their clients are closed.
"""

import asyncio
import collections
import ipaddress
import resource

from absl import logging

from t2t_keras.serving.limits import Refusal

OTHER_FILES = 100  # file descriptors that connections leave free, such as for loading a version
# Maximum connections accepted at once. Their requests are read before more connections are
# accepted, so that a new connection does not replace one whose request has arrived.
AT_ONCE = 16


class Connection(asyncio.Protocol):
    """One of the `Connections`, which forwards all events to aiohttp's protocol."""

    def __init__(self, connections, protocol):
        self.connections, self.protocol = connections, protocol
        for event in ("data_received", "eof_received", "pause_writing", "resume_writing"):
            setattr(self, event, getattr(protocol, event))
        self.transport, self.client = None, ""
        self.waiting_since = None  # start of the wait for the client; None: the server is working
        self.unsent = 0
        self.held = 0  # bytes of the request, its results and its answer

    def connection_made(self, transport):
        self.transport = transport
        self.client = client_of(transport.get_extra_info("peername"))
        self.connections.make_room()
        self.connections.open.add(self)
        self.wait_for_client()
        self.protocol.connection_made(transport)

    def connection_lost(self, error):
        self.release()
        self.connections.open.discard(self)
        self.protocol.connection_lost(error)

    def work(self):
        """Marks that the client waits for the server."""
        self.waiting_since = None

    def wait_for_client(self):
        """Marks that the server waits for the client."""
        self.waiting_since, self.unsent = now(), float("inf")

    def hold(self, size):
        """Counts bytes that this request holds until `release`. Raises `Refusal` if too many."""
        self.held += size
        self.connections.held += size
        self.connections.make_room_in_memory(self)

    def release(self):
        self.connections.held -= self.held
        self.held = 0

    def check_time(self):
        """Closes the connection if its client takes too long to send a request or to read on."""
        if self.waiting_since is None:
            return
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self.unsent:
            self.waiting_since = now()
        self.unsent = unsent
        if now() > self.waiting_since + self.connections.limits.client_timeout_seconds:
            self.abort()

    def abort(self):
        """Closes the connection immediately; `close` would wait until the client has read all."""
        self.release()
        self.connections.open.discard(self)
        self.transport.abort()


class Connections:
    """All open connections of a server. Calling it returns the protocol of a new connection."""

    def __init__(self, protocols, limits):
        self.protocols, self.limits = protocols, limits
        self.open, self.held = set(), 0
        self.limit = affordable(limits.max_connections)

    def __call__(self):
        return Connection(self, self.protocols())

    def make_room(self):
        """At the limit, closes the connection that has waited longest for its client, if any does.

        It is one of the client with the most such connections.
        """
        if len(self.open) < self.limit:
            return
        waiting = [each for each in self.open if each.waiting_since is not None]
        if waiting:
            counts = collections.Counter(each.client for each in waiting)
            max(waiting, key=lambda each: (counts[each.client], -each.waiting_since)).abort()

    def make_room_in_memory(self, connection):
        """Closes connections that wait for their clients until there is enough memory."""
        limit = self.limits.max_memory_mb * 1_000_000
        if self.held <= limit:
            return
        others = [each for each in self.open if each.held and each is not connection]
        idle = [each for each in others if each.waiting_since is not None]
        for each in sorted(idle, key=lambda each: each.waiting_since):
            each.abort()
            if self.held <= limit:
                return
        raise Refusal(
            503,
            f"The requests in flight need more than {self.limits.max_memory_mb:,} MB. Try again in "
            "a moment, with fewer or shorter texts",
        )

    async def watch(self):
        """Closes connections that wait too long."""
        while True:
            await asyncio.sleep(min(1, self.limits.client_timeout_seconds / 4))
            for connection in list(self.open):
                connection.check_time()


def affordable(connections):
    """Returns the maximum number of open connections, and lets the process open as many files."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if files == resource.RLIM_INFINITY or files >= wanted:
        return connections
    files = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    if files < wanted:
        logging.warning("Only %d files may be open, so --max_connections is lower", files)
    return max(1, files - OTHER_FILES)


def client_of(address):
    """Returns the key of a client: its IPv4 address, or the network part of its IPv6 address."""
    if not address:
        return ""
    ip = ipaddress.ip_address(address[0].partition("%")[0])
    if ip.version == 6 and ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False))


def now():
    return asyncio.get_running_loop().time()
