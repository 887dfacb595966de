"""The connections of a server: how many are open, how long they wait, and how much they hold.

A client that sends nothing, or never reads, costs a file descriptor and memory. So each wait for a
client ends after a while. If connections or memory run out before that, the connection that has
waited longest for its client is closed.
"""

import asyncio
import collections
import ipaddress
import os
import resource

from absl import logging

from t2t_keras.serving.limits import Refusal

SPARE_FILES = 16  # file descriptors for loading a version, besides those of connections
# Connections accepted at once. Requests of earlier ones are read before more are accepted, so that
# a new connection does not replace one whose request has arrived.
AT_ONCE = 16
RESERVE = 16  # connections beyond the limit, for all requests but predictions


class Connection(asyncio.Protocol):
    """One connection. It passes all events on to aiohttp's protocol.

    Args:
        connections: the `Connections` that it belongs to.
        protocol: aiohttp's protocol, which parses requests and writes answers.
    """

    def __init__(self, connections, protocol):
        self.connections, self.protocol = connections, protocol
        self.transport, self.client = None, ""
        self.waiting_since = None  # when the server began to wait for the client; None: it works
        self.deadline, self.unsent = None, 0
        self.held = 0  # bytes of the request, its results and its answer
        self.reserved = False  # whether it exceeds the limit

    def connection_made(self, transport):
        self.transport = transport
        self.client = client_of(transport.get_extra_info("peername"))
        self.connections.make_room()
        self.reserved = len(self.connections.open) >= self.connections.limit
        if len(self.connections.open) >= self.connections.limit + RESERVE:
            transport.abort()
            return
        self.connections.open.add(self)
        self.wait_for_client()
        self.protocol.connection_made(transport)

    def connection_lost(self, error):
        self.release()
        self.connections.open.discard(self)
        self.protocol.connection_lost(error)

    def data_received(self, data):
        self.protocol.data_received(data)

    def eof_received(self):
        return self.protocol.eof_received()

    def pause_writing(self):
        self.protocol.pause_writing()

    def resume_writing(self):
        self.protocol.resume_writing()

    def work(self):
        """Marks that the client waits for the server."""
        self.waiting_since = self.deadline = None

    def wait_for_client(self, timed=True):
        """Marks that the server waits for the client.

        Args:
            timed: whether the connection is closed if nothing happens for too long.
        """
        self.waiting_since = now()
        self.unsent = float("inf")
        self.deadline = self.waiting_since + self.connections.limits.patience if timed else None

    def hold(self, size):
        """Counts bytes that this request holds until `release`. Raises `Refusal` if too many."""
        self.held += size
        self.connections.held += size
        self.connections.make_room_in_memory(self)

    def release(self):
        self.connections.held -= self.held
        self.held = 0

    def check_time(self):
        """Closes the connection if its client has neither sent nor read anything for too long."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < self.unsent and self.deadline is not None and unsent:
            self.deadline = now() + self.connections.limits.patience
        self.unsent = unsent
        if self.deadline is not None and now() > self.deadline:
            self.abort()

    def abort(self):
        """Closes the connection at once: `close` would wait until the client has read all."""
        self.release()
        self.connections.open.discard(self)
        self.transport.abort()


class Connections:
    """All open connections of a server. Calling it makes the protocol of a new one.

    Args:
        protocols: makes aiohttp's protocol of a connection.
        limits: `Limits`.
    """

    def __init__(self, protocols, limits):
        self.protocols, self.limits = protocols, limits
        self.open, self.held = set(), 0
        self.limit = affordable(limits.connections)

    def __call__(self):
        return Connection(self, self.protocols())

    def make_room(self):
        """Makes room for one more connection, if one waits for its client."""
        if len(self.open) >= self.limit and (longest := self.longest_waiting()):
            longest.abort()

    def longest_waiting(self):
        """Returns a waiting connection of the client that has most, or None if none is waiting."""
        waiting = [each for each in self.open if each.waiting_since is not None]
        counts = collections.Counter(each.client for each in waiting)
        return max(
            waiting, key=lambda each: (counts[each.client], -each.waiting_since), default=None
        )

    def make_room_in_memory(self, connection):
        """Closes connections whose clients do not read or send, until there is enough memory."""
        limit = self.limits.memory * 1_000_000
        if self.held <= limit:
            return
        idle = [
            each
            for each in self.open
            if each.held and each.waiting_since is not None and each is not connection
        ]
        for each in sorted(idle, key=lambda each: each.waiting_since):
            each.abort()
            if self.held <= limit:
                return
        raise Refusal(
            503,
            f"The requests in flight need more than {self.limits.memory:,} MB. Try again in a "
            "moment, with fewer or shorter texts",
        )

    async def watch(self):
        """Closes connections that wait too long."""
        while True:
            await asyncio.sleep(min(1, self.limits.patience / 4))
            for connection in list(self.open):
                connection.check_time()


def affordable(connections):
    """Returns the number of connections that may be open.

    It is at most `connections`, and less if the process may not open as many files.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return connections
    room = files - len(os.listdir("/dev/fd")) - AT_ONCE - SPARE_FILES - RESERVE
    if room < 1:
        raise ValueError(
            f"the limit on open files leaves none for connections. Received: {files}. Raise it "
            "with ulimit -n"
        )
    if room < connections:
        logging.warning(
            "At most %d connections instead of --connections=%d, because of the limit of %d open "
            "files; ulimit -n raises it",
            room,
            connections,
            files,
        )
    return min(connections, room)


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
