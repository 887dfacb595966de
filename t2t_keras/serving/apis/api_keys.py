"""API keys: a file with one key a line, which is read again when it changes."""

import hashlib
import os
import re
from pathlib import Path

from absl import logging

from t2t_keras.serving.limits import Refusal

KEY = re.compile(r"[\x21-\x7e]+")  # characters that a header may contain
MISSING = "Please contact the server operator to get an API key"
INVALID = "Invalid API key"


class ApiKeys:
    """The keys in a file. Empty lines and lines that begin with # are ignored."""

    def __init__(self, path):
        self.path, self.state, self.digests = path, state_of(path), digests_in(path)

    def is_valid(self, key):
        """Returns whether a key is in the file, which is read again if it has changed.

        If that is impossible, the keys stay as they were.
        """
        if (state := state_of(self.path)) != self.state:
            self.state = state
            try:
                self.digests = digests_in(self.path)
                logging.info("%s has changed. API keys: %d", self.path, len(self.digests))
            except (ValueError, OSError) as error:
                logging.warning("The API keys stay as they were: %s", error)
        return digest(key) in self.digests  # the time tells nothing about the keys themselves

    def check(self, request, field=None):
        """Refuses a request without a valid key in its headers.

        A `field` is the value of the field `api_key` in LibreTranslate's API, or "": it may be the
        key, and the answers are LibreTranslate's.
        """
        key = field or key_in_headers(request)
        if key and self.is_valid(key):
            return
        if field is not None:
            raise Refusal(403, INVALID) if key else Refusal(400, MISSING)
        reason = "The API key is not valid" if key else "This server requires an API key"
        raise Refusal(
            401, f"{reason}. Send it in the header 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
        )


def key_in_headers(request):
    """Returns the API key in the headers of a request, or "".

    If there is a header X-API-Key, Authorization may be meant for a proxy.
    """
    if "X-API-Key" in request.headers:
        return request.headers["X-API-Key"].strip()
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def state_of(path):
    """Returns values that change when a file does; None if there is no such file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def digests_in(path):
    """Returns the digests of the keys in a file, at least one."""
    found = set()
    text = Path(path).read_bytes().decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if not KEY.fullmatch(key):
            raise ValueError(
                f"--api_key_file={path}, line {number}: a key must consist of ASCII letters, "
                "digits and punctuation, without spaces"
            )
        found.add(digest(key))
    if not found:  # perhaps it is just being written
        raise ValueError(f"--api_key_file={path} contains no key. Write one key a line")
    return found


def digest(key):
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
