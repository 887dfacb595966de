"""A server on the loopback that speaks the HTTP of the Hugging Face Hub, with accidents on demand.

Large files are redirected to a second server, as the Hub redirects them to its network of caches.
It runs in threads of the test, or by itself: `python loopback_hub.py ORG/NAME=FOLDER …` prints the
address for HF_ENDPOINT and then each request.
"""

import contextlib
import hashlib
import json
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGE = {".safetensors", ".bin", ".h5", ".npz", ".tflite", ".spm", ".model"}
PIECE = 1 << 16  # bytes sent at once


class LoopbackHub:
    """Repositories, served at `address` until `close` is called.

    Attributes:
        log: a dict for each request: method, path, range, status, sent (bytes of the body), token.
        gated: {repository: token that may read it}.
        statuses: {regular expression of a path: (status, headers) to answer instead}.
        break_after: bytes of a large file after which the connection is cut, once. None: never.
        seconds: duration of each piece of a large file.
        corrupt: names of files in which one byte differs from the listing.
        headers: {regular expression of a path: headers that replace those of the answer}.
        endless: regular expressions of paths whose answers do not end.
    """

    def __init__(self):
        self.folders, self.log = {}, []
        self.gated, self.statuses, self.corrupt = {}, {}, set()
        self.headers, self.endless = {}, set()
        self.break_after, self.seconds = None, 0.0
        self.servers = [self.server(handler) for handler in (HubHandler, StorageHandler)]
        self.address, self.storage = (
            f"http://127.0.0.1:{server.server_address[1]}" for server in self.servers
        )

    def server(self, handler):
        bound = type(handler.__name__, (handler,), {"hub": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add(self, repository, folder):
        """Serves a folder as the branch main, and by its commit; returns the commit."""
        self.folders[repository] = Path(folder)
        return self.commit(repository)

    def commit(self, repository):
        digests = sorted((name, file["digest"]) for name, file in self.files(repository).items())
        return hashlib.sha1(repr(digests).encode()).hexdigest()

    def files(self, repository):
        """Returns {name: size, digest, oid and whether it is a large file}."""
        folder, found = self.folders[repository], {}
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            contents, large = path.read_bytes(), path.suffix in LARGE
            stored = contents
            if large:
                sha = hashlib.sha256(contents).hexdigest()
                stored = f"version https://git-lfs…\noid sha256:{sha}\n".encode()
            oid = hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()
            found[path.relative_to(folder).as_posix()] = {
                "size": len(contents),
                "oid": oid,
                "digest": sha if large else oid,
                "large": large,
            }
        return found

    def info(self, repository):
        files = self.files(repository)
        siblings = [
            {"rfilename": name, "size": file["size"], "blobId": file["oid"]}
            | ({"lfs": {"sha256": file["digest"], "size": file["size"], "pointerSize": 130}}
               if file["large"] else {})
            for name, file in files.items()
        ]  # fmt: skip
        return {
            "id": repository,
            "modelId": repository,
            "sha": self.commit(repository),
            "private": False,
            "gated": "manual" if repository in self.gated else False,
            "siblings": siblings,
        }

    def sent(self, name=""):
        """Returns the bytes of all answers to GET whose path contains a name.

        A client may have read its last byte before the thread of its answer has counted it.
        """
        entries = [e for e in self.log if e["method"] == "GET" and name in e["path"]]
        until = time.monotonic() + 5
        while time.monotonic() < until and not all(e["done"] for e in entries):
            time.sleep(0.01)
        return sum(e["sent"] for e in entries)

    def environment(self, home):
        """Returns environment variables for clients, with their cache in a folder."""
        return {
            "HF_ENDPOINT": self.address,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_TOKEN": "",
            "HF_HUB_OFFLINE": "",
            "NO_PROXY": "127.0.0.1",
        }

    def use(self, home, monkeypatch, piece=4096):
        """Makes huggingface_hub in this process use this hub, with its cache in a folder.

        Args:
            home: folder of the cache.
            monkeypatch: the fixture.
            piece: bytes that are written to the cache at once; huggingface_hub's own are 10 MiB.
        """
        from huggingface_hub import constants

        template = self.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", self.address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", piece)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")


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


@contextlib.contextmanager
def loopback_hub():
    """Yields a `LoopbackHub`."""
    hub = LoopbackHub()
    try:
        yield hub
    finally:
        hub.close()


def write_card(folder, **metadata):
    """Writes a model card whose metadata are JSON, which is YAML, and returns the folder."""
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in metadata.items())
    (Path(folder) / "README.md").write_text(f"---\n{lines}---\n# A model\n", encoding="utf-8")
    return folder


def main():
    hub = LoopbackHub()
    for argument in sys.argv[1:]:
        repository, _, folder = argument.partition("=")
        hub.add(repository, folder)
    print(f"HF_ENDPOINT={hub.address}", flush=True)
    shown = 0
    while True:
        time.sleep(0.2)
        for entry in hub.log[shown:]:
            if not entry["done"]:
                break
            print(json.dumps(entry), flush=True)
            shown += 1


if __name__ == "__main__":
    main()
