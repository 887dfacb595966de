"""The limits of a server and the exception that turns a request away."""

import dataclasses

from t2t_keras.checks import check, check_integer


class Refusal(Exception):
    """An error that tells a client why its request is not served.

    Args:
        status: the HTTP status.
        message: text for the client, with the received and the allowed values.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


@dataclasses.dataclass
class Limits:
    """The limits of a server. t2t-serve has a flag for each, except `max_answer_values`."""

    # Rows computed together.
    max_batch_rows: int = 32
    # Milliseconds that a batch waits for more rows.
    batch_wait_ms: float = 2.0
    # Batches computed at the same time, besides one reserved for a client that has none.
    workers: int = 2
    # Rows in flight, of all clients; further requests get HTTP 429.
    max_rows_in_flight: int = 2000
    # Bytes of a request; larger ones get HTTP 413.
    max_body_bytes: int = 1_000_000
    # Bytes of a text; longer ones get HTTP 413.
    max_text_bytes: int = 4000
    # Bytes of a text whose answer grows with the text, as attention weights do.
    max_attention_text_bytes: int = 500
    # Numbers and strings in an answer; larger ones get HTTP 413.
    max_answer_values: int = 4_000_000
    # Megabytes of requests, results and unread answers, of all clients.
    max_memory_mb: int = 1000
    # Open connections; beyond that, a new one replaces one that waits for its client.
    max_connections: int = 1000
    # Seconds that a client may take to send a request, to begin the next one, or to read on.
    client_timeout_seconds: int = 30
    # Seconds to finish the requests in flight after a signal to stop.
    grace_seconds: int = 30

    @property
    def rows(self):
        """The maximum number of rows in a request."""
        return self.max_rows_in_flight // 2

    def validate(self):
        wait = self.batch_wait_ms
        check(wait >= 0, "batch_wait_ms", wait, "a number of milliseconds, 0 or more")
        for field in dataclasses.fields(self):
            if field.type is int:
                # A request takes at most half of the rows in flight.
                least = 2 if field.name == "max_rows_in_flight" else 1
                check_integer(field.name, getattr(self, field.name), least)
