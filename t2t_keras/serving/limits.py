"""The limits of a server and the exception that turns a request away."""

import dataclasses


class Refusal(Exception):
    """An error that tells a client why its request is not served, with the HTTP status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def limit(default, purpose, least=1):
    return dataclasses.field(default=default, metadata={"purpose": purpose, "least": least})


@dataclasses.dataclass
class Limits:
    """The limits of a server. t2t-serve has a flag for each, except `max_answer_values`."""

    max_batch_rows: int = limit(32, "Maximum number of texts in a batch.")
    batch_wait_ms: float = limit(
        2.0, "Time that a batch waits for more texts, in milliseconds.", least=0
    )
    workers: int = limit(2, "Number of batches computed at the same time.")
    max_rows_in_flight: int = limit(
        2000,
        "Maximum number of texts in flight, twice the maximum of a request; further requests get "
        "HTTP 429.",
        least=2,
    )
    max_body_bytes: int = limit(
        1_000_000, "Maximum size of a request in bytes; larger ones get HTTP 413."
    )
    max_file_bytes: int = limit(
        10_000_000, "Maximum size of a document in bytes; larger ones get HTTP 413."
    )
    max_segments: int = limit(
        10_000, "Maximum number of segments of a document, such as paragraphs; beyond it, HTTP 413."
    )
    max_text_bytes: int = limit(
        4000,
        "Maximum size of a sentence in bytes, or of a text that is not divided into sentences; "
        "requests with a larger one get HTTP 413.",
    )
    max_memory_mb: int = limit(
        1000,
        "Maximum memory for requests, results and answers that are not read yet, of all clients, "
        "in megabytes. Beyond it, connections that do not read are closed; if there are none, "
        "requests get HTTP 503.",
    )
    max_connections: int = limit(
        1000,
        "Maximum number of open connections. Beyond it, a new one replaces the one that has waited "
        "longest, of the client with the most waiting connections.",
    )
    client_timeout_seconds: int = limit(
        30,
        "Time in seconds that a client may take to send a request, to begin the next one on the "
        "same connection, or to read a part of its answer.",
    )
    grace_seconds: int = limit(
        30, "Time to finish the requests in flight when the server stops, in seconds."
    )
    max_answer_values: int = 4_000_000  # numbers and strings in an answer; beyond it, HTTP 413

    @property
    def rows(self):
        """The maximum number of rows in a request."""
        return self.max_rows_in_flight // 2
