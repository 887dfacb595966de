"""The two servers of a `LoopbackHub`: the Hub itself, and the store of its large files."""

import contextlib
import json
import re
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler

PIECE = 1 << 16  # bytes sent at once


class Handler(BaseHTTPRequestHandler):
    """Answers, and notes what was asked and sent."""

    protocol_version = "HTTP/1.1"
    hub = None

    def handle_one_request(self):
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.entry = {
            "path": urllib.parse.unquote(self.path),
            "range": self.headers.get("Range"),
            "token": (self.headers.get("Authorization") or "").removeprefix("Bearer "),
            "sent": 0,
            "done": False,
        }
        self.hub.log.append(self.entry)
        try:
            for form, answer in self.hub.statuses.items():
                if re.search(form, self.entry["path"]):
                    self.answer(*answer)
                    return
            self.respond(self.entry["path"].partition("?")[0])
        finally:
            self.entry["done"] = True

    def answer(self, status, headers, body=b"", is_large=False):
        """Sends an answer, with the accidents that the hub has for it."""
        headers = {"Content-Length": len(body), **headers}
        is_endless = any(re.search(form, self.entry["path"]) for form in self.hub.endless)
        if is_endless:
            del headers["Content-Length"]
            headers["Connection"] = "close"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        while is_endless:  # until the client closes the connection
            self.send(b" " * PIECE)
        for start in range(0, len(body), PIECE):
            limit = self.hub.break_after
            if is_large and limit is not None and start >= limit:
                self.hub.break_after = None
                self.close_connection = True
                self.connection.close()
                return
            self.send(body[start : start + PIECE])
            if is_large and self.hub.seconds:
                time.sleep(self.hub.seconds)

    def send(self, contents):
        self.wfile.write(contents)
        self.entry["sent"] += len(contents)

    def file(self, repository, name, is_large=False):
        """Answers with a file, or the requested part of it."""
        contents = (self.hub.folders[repository] / name).read_bytes()
        if name in self.hub.corrupt:
            middle = len(contents) // 2
            contents = contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]
        total = len(contents)
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(found[1]) if found else 0
        if start >= total:
            self.answer(416, {"Content-Range": f"bytes */{total}"})
        elif found:
            part = {"Content-Range": f"bytes {start}-{total - 1}/{total}"}
            self.answer(206, part, contents[start:], is_large)
        else:
            self.answer(200, {}, contents, is_large)


class HubHandler(Handler):
    """The Hub itself: information, and the addresses of files."""

    def respond(self, path):
        if found := re.fullmatch("/api/resolve-cache/models/([^/]+/[^/]+)/[^/]+/(.+)", path):
            self.file(*found.groups())
        elif found := re.fullmatch("/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            if self.is_known(found[1], found[2] or "main"):
                info = json.dumps(self.hub.info(found[1])).encode()
                self.answer(200, {"Content-Type": "application/json"}, info)
        elif found := re.fullmatch("/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            if self.is_known(found[1], found[2]):
                self.resolve(found[1], found[3])
        else:
            self.refuse(404, "", "Not Found")

    def is_known(self, repository, revision):
        """Returns whether there is a revision of a repository. If not, says so to the client."""
        if repository not in self.hub.folders:
            # The Hub does not tell strangers whether a private repository exists.
            status = 404 if self.entry["token"] else 401
            self.refuse(status, "RepoNotFound", "Repository not found")
            return False
        if revision not in ("main", self.hub.commit(repository)):
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return False
        return True

    def resolve(self, repository, name):
        """Redirects to the place of a file."""
        required = self.hub.gated.get(repository)
        file = self.hub.files(repository).get(name)
        if required not in (None, self.entry["token"]):
            status = 403 if self.entry["token"] else 401
            self.refuse(status, "GatedRepo", f"Access to model {repository} is restricted")
        elif file is None:
            self.refuse(404, "EntryNotFound", "Entry not found")
        elif file["large"]:
            place = f"{self.hub.storage}/{repository}/{name}?Signature=abc"
            self.answer(302, {"Location": place})
        else:
            commit = self.hub.commit(repository)
            place = f"/api/resolve-cache/models/{repository}/{commit}/{name}"
            self.answer(307, {"Location": place})

    def refuse(self, status, code, message):
        self.answer(status, {"X-Error-Code": code, "X-Error-Message": message})


class StorageHandler(Handler):
    """The store of large files, whose addresses are signed and which must see no token."""

    def respond(self, path):
        _, organization, name, file = path.split("/", 3)
        self.file(f"{organization}/{name}", file, is_large=True)
