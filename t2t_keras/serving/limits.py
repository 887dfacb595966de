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
    workers: int = 2  # batches computed at the same time
    queue: int = 1000  # rows in flight, of all clients; further requests get HTTP 429
    body: int = 1_000_000  # bytes of a request; larger ones get HTTP 413
    line: int = 4000  # bytes of a text; longer ones get HTTP 413
    # bytes of a text whose answer grows with the text, as attention weights do
    attention_line: int = 500
    answer: int = 4_000_000  # numbers and strings in an answer; larger ones get HTTP 413
    patience: int = 30  # seconds in which a client must send its request, or it gets HTTP 408
    grace: int = 30  # seconds to finish the requests in flight after a signal to stop

    def validate(self):
        for field in dataclasses.fields(self):
            if field.name != "wait":
                check_integer(field.name, getattr(self, field.name))
        check(self.wait >= 0, "wait", self.wait, "a number of milliseconds, 0 or more")
