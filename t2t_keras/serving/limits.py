"""The limits of a server and the exception that turns a request away."""

import dataclasses

from t2t_keras.checks import check, check_integer


class Refusal(Exception):
    """Tells a client why its request is not served.

    Args:
        status: the HTTP status.
        message: text for the client: what was received and what is allowed.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


@dataclasses.dataclass
class Limits:
    """The limits of a server. t2t-serve has a flag for each, except `answer`."""

    batch: int = 32  # rows computed together
    wait: float = 2.0  # milliseconds that a batch waits for more rows
    workers: int = 2  # batches computed at the same time, besides one for a client that has none
    queue: int = 2000  # rows in flight, of all clients; further requests get HTTP 429
    body: int = 1_000_000  # bytes of a request; larger ones get HTTP 413
    line: int = 4000  # bytes of a text; longer ones get HTTP 413
    # bytes of a text whose answer grows with the text, as attention weights do
    attention_line: int = 500
    row: int = 1024  # values in a row, such as the ids of a sentence; longer ones get HTTP 413
    answer: int = 4_000_000  # numbers and strings in an answer; larger ones get HTTP 413
    memory: int = 1000  # megabytes of requests, results and unread answers, of all clients
    connections: int = 1000  # open connections; a new one then replaces the one that waits longest
    # seconds that a client may take to send a request, to begin the next one, or to read on
    patience: int = 30
    grace: int = 30  # seconds to finish the requests in flight after a signal to stop

    @property
    def rows(self):
        """The maximum number of rows in a request."""
        return self.queue // 2

    def validate(self):
        for field in dataclasses.fields(self):
            if field.name != "wait":
                least = 2 if field.name == "queue" else 1  # one request takes at most half of it
                check_integer(field.name, getattr(self, field.name), least)
        check(self.wait >= 0, "wait", self.wait, "a number of milliseconds, 0 or more")
