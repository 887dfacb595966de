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

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.entry = {
            "method": self.command,
            "path": urllib.parse.unquote(self.path),
            "range": self.headers.get("Range"),
            "token": (self.headers.get("Authorization") or "").removeprefix("Bearer "),
            "sent": 0,
            "status": None,
            "done": False,
        }
        self.hub.log.append(self.entry)
        try:
            self.answer_entry()
        finally:
            self.entry["done"] = True

    def answer_entry(self):
        for form, (status, headers) in self.hub.statuses.items():
            if re.search(form, self.entry["path"]):
                self.answer(status, headers)
                return
        self.respond(self.entry["path"].partition("?")[0])

    def answer(self, status, headers, body=b""):
        self.begin(status, {"Content-Length": len(body), **headers})
        if self.command == "GET":
            self.send(body)

    def begin(self, status, headers):
        """Sends the status and the headers, and a body without end where one is wanted."""
        is_endless = any(re.search(form, self.entry["path"]) for form in self.hub.endless)
        for form, others in self.hub.headers.items():
            if re.search(form, self.entry["path"]):
                headers = headers | others
        if is_endless:
            headers = {name: headers[name] for name in headers if name != "Content-Length"}
            headers |= {"Connection": "close"}
        self.entry["status"] = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        while is_endless and self.command == "GET":  # until the client closes the connection
            self.wfile.write(b" " * PIECE)
            self.entry["sent"] += PIECE

    def send(self, body, is_large=False):
        for start in range(0, len(body), PIECE):
            if is_large and self.hub.break_after is not None and start >= self.hub.break_after:
                self.hub.break_after = None
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(body[start : start + PIECE])
            self.entry["sent"] += len(body[start : start + PIECE])
            if is_large and self.hub.seconds:
                time.sleep(self.hub.seconds)

    def file(self, repository, name, headers, is_large=False):
        """Answers with a file, or the requested part of it."""
        contents = (self.hub.folders[repository] / name).read_bytes()
        if name in self.hub.corrupt:
            middle = len(contents) // 2
            contents = contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]
        status, total = 200, len(contents)
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or ""):
            start = int(found[1])
            if start >= total:
                self.answer(416, {"Content-Range": f"bytes */{total}"})
                return
            status, contents = 206, contents[start:]
            headers = headers | {"Content-Range": f"bytes {start}-{total - 1}/{total}"}
        length = {"Content-Length": len(contents), "Accept-Ranges": "bytes"}
        self.begin(status, length | headers)
        if self.command == "GET":
            self.send(contents, is_large)


class HubHandler(Handler):
    """The Hub itself: information, and the addresses of files."""

    def respond(self, path):
        cached = re.fullmatch("/api/resolve-cache/models/([^/]+/[^/]+)/([^/]+)/(.+)", path)
        if cached:
            repository, commit, name = cached.groups()
            digest = self.hub.files(repository)[name]["digest"]
            self.file(repository, name, {"ETag": f'"{digest}"', "X-Repo-Commit": commit})
            return
        found = re.fullmatch(
            "/api/models/([^/]+/[^/]+)(?:/(?:revision|tree)/(.+))?|/([^/]+/[^/]+)/resolve/([^/]+)/(.+)",
            path,
        )
        if not found:
            self.refuse(404, "", "Not Found")
            return
        repository, revision = found[1] or found[3], found[2] or found[4] or "main"
        if repository not in self.hub.folders:
            # The Hub does not tell strangers whether a private repository exists.
            status = 404 if self.entry["token"] else 401
            self.refuse(status, "RepoNotFound", "Repository not found")
            return
        commit = self.hub.commit(repository)
        if revision not in ("main", commit):
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif found[1] and "/tree/" in path:
            files = self.hub.files(repository)
            tree = [{"type": "file", "path": name, **file} for name, file in files.items()]
            self.json(tree)
        elif found[1]:
            self.json(self.hub.info(repository))
        else:
            self.resolve(repository, commit, found[5])

    def resolve(self, repository, commit, name):
        required = self.hub.gated.get(repository)
        if required not in (None, self.entry["token"]):
            status = 403 if self.entry["token"] else 401
            self.refuse(status, "GatedRepo", f"Access to model {repository} is restricted")
            return
        file = self.hub.files(repository).get(name)
        if file is None:
            self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
            return
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file["digest"]}"'}
        if file["large"]:
            headers |= {
                "X-Linked-Size": file["size"],
                "X-Linked-ETag": f'"{file["digest"]}"',
                "Location": f"{self.hub.storage}/{repository}/{name}?Signature=abc",
            }
            self.answer(302, headers)
        else:
            place = f"/api/resolve-cache/models/{repository}/{commit}/{name}"
            self.answer(307, headers | {"Location": place})

    def json(self, contents):
        headers = {"Content-Type": "application/json"}
        self.answer(200, headers, json.dumps(contents).encode())

    def refuse(self, status, code, message, headers=()):
        known = {"X-Error-Code": code} if code else {}
        headers = {**known, "X-Error-Message": message, **dict(headers)}
        self.answer(status, headers, json.dumps({"error": message}).encode())


class StorageHandler(Handler):
    """The store of large files, whose addresses are signed and which must see no token."""

    def respond(self, path):
        _, organization, name, file = path.split("/", 3)
        repository = f"{organization}/{name}"
        digest = self.hub.files(repository)[file]["digest"]
        self.file(repository, file, {"ETag": f'"{digest[:32]}"'}, is_large=True)
