"""Requests to the Hugging Face Hub whose answers have a limited size.

The functions of huggingface_hub itself store as many bytes as a server sends, also of a compressed
answer, an error or a redirect. Here answers are requested without compression, and reading ends at
the expected size.
"""

import contextlib
import json
import re
import time

from t2t_keras.importing.hub.cache import library

TIMEOUT = 10.0  # seconds until the Hub must answer a request for information
LARGEST_ANSWER = 64 << 20  # bytes of the information about a repository
REDIRECTS = 10
RETRIES = 5  # failures in sequence, without a byte between them
RETRIED_STATUSES = (408, 429)  # of files: timeout, too many requests
WAIT = 1.0  # seconds before a request is repeated


def information(url):
    """Returns the JSON value at an address, which must be smaller than `LARGEST_ANSWER`."""
    answer = bytearray()
    with answered(url, TIMEOUT, params={"blobs": True}) as response:
        for chunk in response.iter_raw():
            answer += chunk
            if len(answer) > LARGEST_ANSWER:
                raise ValueError(too_large(url, LARGEST_ANSWER))
    return json.loads(answer)


def append_rest(url, output, size, update):
    """Appends the missing bytes of a file. Broken connections are replaced.

    Args:
        url: address of the file.
        output: the partial file, open for appending in binary mode.
        size: size of the complete file in bytes. Further bytes are refused.
        update: called with the number of bytes of each piece.
    """
    constants = library().constants
    failures = 0
    while (start := output.tell()) < size:
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            with answered(url, constants.HF_HUB_DOWNLOAD_TIMEOUT, headers) as response:
                if start and response.status_code == 200:  # the server ignores ranges
                    output.truncate(0)
                    output.seek(0)
                    update(-start)
                for chunk in response.iter_raw(constants.DOWNLOAD_CHUNK_SIZE):
                    if output.tell() + len(chunk) > size:
                        raise ValueError(too_large(url, size))
                    output.write(chunk)
                    update(len(chunk))
            if output.tell() < size:
                raise OSError(f"the answer ended after {output.tell():,} of {size:,} bytes")
        except library().errors.HTTPError as error:  # of httpx
            failures = 1 if output.tell() > start else failures + 1
            seconds = seconds_to_wait(error)
            if seconds is None or failures > RETRIES:
                raise
            time.sleep(seconds)


@contextlib.contextmanager
def answered(url, timeout, headers=(), params=None):
    """Yields the answer to a GET request, after redirects. Errors are those of huggingface_hub."""
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    client = get_session()
    headers = build_hf_headers() | {"Accept-Encoding": "identity"} | dict(headers)
    request = client.build_request("GET", url, headers=headers, params=params, timeout=timeout)
    for _ in range(REDIRECTS):
        response = client.send(request, stream=True, follow_redirects=False)
        try:
            if response.next_request is None:
                if response.is_error:
                    response.close()  # its headers say what is wrong, its body may be endless
                hf_raise_for_status(response)
                check_encoding(url, response)
                yield response
                return
        finally:
            response.close()  # httpx itself would read the bodies of redirects
        request = response.next_request  # without the token, if it is for a different host
    raise OSError(f"{host(url)} redirects in a circle")


def check_encoding(url, response):
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise ValueError(
            f"{host(url)} sent an answer with the encoding {encoding[:40]!r}, which was not "
            "requested. Check HF_ENDPOINT and HTTPS_PROXY if they are set"
        )


def seconds_to_wait(error):
    """Returns the time until a request is repeated, or None if it will not succeed."""
    response = getattr(error, "response", None)
    if response is None:
        return WAIT
    if response.status_code not in RETRIED_STATUSES:
        return None
    seconds = response.headers.get("Retry-After", "")
    return float(seconds) if re.fullmatch(r"\d{1,2}", seconds, re.A) else WAIT


def too_large(url, size):
    return (
        f"{host(url)} sent more than the expected {size:,} bytes. Check HF_ENDPOINT and "
        "HTTPS_PROXY if they are set, or try again later"
    )


def host(url):
    return "/".join(url.split("/")[:3])
