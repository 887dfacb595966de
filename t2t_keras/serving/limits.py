"""What a server takes on, and how it says no to more."""

import dataclasses

from t2t_keras.checks import check, check_integer


class Refusal(Exception):
    """What a client is answered when a request can not be met.

    Args:
        status: the HTTP status.
        message: for the client. It names what was given and what is allowed.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


@dataclasses.dataclass
class Limits:
    batch: int = 32  # rows that are computed together
    wait: float = 2.0  # milliseconds that a batch waits to be filled
    workers: int = 2  # batches at a time
    queue: int = 1000  # rows of all clients, waiting or being computed; more is answered with 429
    body: int = 1_000_000  # bytes of a request; more is answered with 413, as are longer lines
    line: int = 4000  # bytes of a text
    # bytes of a text whose answer grows with its square, as attention does
    attention_line: int = 500
    answer: int = 4_000_000  # numbers and strings of an answer
    patience: int = 30  # seconds for a client to send its request
    grace: int = 30  # seconds to finish what is in hand when stopped

    def validate(self):
        for field in dataclasses.fields(self):
            if field.name != "wait":
                check_integer(field.name, getattr(self, field.name))
        check(self.wait >= 0, "wait", self.wait, "a number of milliseconds, 0 or more")
