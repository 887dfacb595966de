"""A server on the loopback that speaks the HTTP of the Hugging Face Hub, or fails."""

import contextlib
import hashlib
import json
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGE = {".safetensors", ".bin", ".h5", ".npz", ".tflite", ".spm", ".model"}
PIECE = 1 << 16  # bytes sent at once


class LoopbackHub:
    """Repositories, served at `address`.

    Attributes:
        log: a dict for each request: path, sent (bytes of the body), done.
        statuses: {regular expression of a path: arguments of `answer`}, instead of the file.
        seconds: duration of each piece of a large file.
        corrupt: names of files in which one byte differs from the listing.
    """

    def __init__(self):
        self.folders, self.log = {}, []
        self.statuses, self.corrupt = {}, set()
        self.seconds = 0.0
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, repository, folder):
        """Serves a folder as the branch main, and by its commit; returns the commit."""
        self.folders[repository] = Path(folder)
        return self.commit(repository)

    def tree(self, repository):
        """Returns the Hub's list of the files of a repository."""
        folder, files = self.folders[repository], []
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            contents, name = path.read_bytes(), path.relative_to(folder).as_posix()
            oid = hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()
            files.append({"type": "file", "path": name, "size": len(contents), "oid": oid})
            if path.suffix in LARGE:
                digest = hashlib.sha256(contents).hexdigest()
                files[-1]["lfs"] = {"oid": digest, "size": len(contents), "pointerSize": 1}
        return files

    def commit(self, repository):
        return hashlib.sha1(json.dumps(self.tree(repository)).encode()).hexdigest()

    def sent(self, name=""):
        """Returns the bytes of all answers whose path contains a name.

        A client may have read its last byte before the thread of its answer has counted it.
        """
        entries = [entry for entry in self.log if name in entry["path"]]
        until = time.monotonic() + 5
        while time.monotonic() < until and not all(entry["done"] for entry in entries):
            time.sleep(0.01)
        return sum(entry["sent"] for entry in entries)

    def environment(self, home):
        """Returns environment variables for clients, with their cache in a folder."""
        unset = dict.fromkeys(("HF_TOKEN", "HF_HUB_OFFLINE"), "")
        address = {"HF_ENDPOINT": self.address, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}
        return {"HF_HUB_DISABLE_TELEMETRY": "1", **unset, **address}

    def use(self, home, monkeypatch):
        """Makes huggingface_hub in this process use this hub, with its cache in a folder."""
        from huggingface_hub import constants

        for name, value in {
            "ENDPOINT": self.address,
            "HUGGINGFACE_CO_URL_TEMPLATE": self.address
            + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_OFFLINE": False,
            "HF_TOKEN_PATH": str(home / "token"),
        }.items():
            monkeypatch.setattr(constants, name, value)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Handler(BaseHTTPRequestHandler):
    """Answers requests, and notes what was asked and sent."""

    protocol_version = "HTTP/1.1"
    hub = None

    def handle_one_request(self):
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = urllib.parse.unquote(self.path).partition("?")
        self.entry = {"path": f"{path}?{query}", "sent": 0, "done": False}
        self.hub.log.append(self.entry)
        try:
            for form, answer in self.hub.statuses.items():
                if re.search(form, path):
                    self.answer(*answer)
                    return
            if found := re.fullmatch("/api/models/([^/]+/[^/]+)/tree/([^/]+)", path):
                if self.known(*found.groups()):
                    self.answer(200, {}, json.dumps(self.hub.tree(found[1])).encode())
            elif found := re.fullmatch("/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
                if commit := self.known(found[1], found[2] or "main"):
                    self.answer(200, {}, json.dumps({"id": found[1], "sha": commit}).encode())
            else:
                repository, revision, name = re.fullmatch(
                    "/(.+)/resolve/([^/]+)/(.+)", path
                ).groups()
                if commit := self.known(repository, revision):
                    self.resolve(repository, commit, name)
        finally:
            self.entry["done"] = True

    do_HEAD = do_GET

    def known(self, repository, revision):
        """Returns the commit of a repository. If there is none, says so to the client."""
        if repository not in self.hub.folders:
            return self.refuse(401, "RepoNotFound")
        commit = self.hub.commit(repository)
        return commit if revision in ("main", commit) else self.refuse(404, "RevisionNotFound")

    def resolve(self, repository, commit, name):
        """Answers with a file, whose name in the client's cache is its digest."""
        files = {each["path"]: each for each in self.hub.tree(repository)}
        if name not in files:
            return self.refuse(404, "EntryNotFound")
        contents = bytearray((self.hub.folders[repository] / name).read_bytes())
        if name in self.hub.corrupt:
            contents[len(contents) // 2] ^= 1
        large = files[name].get("lfs")
        oid = (large or files[name])["oid"]
        headers = {"ETag": f'"{oid}"', "X-Repo-Commit": commit}
        return self.answer(200, headers, contents, is_large=large is not None)

    def refuse(self, status, code):
        self.answer(status, {"X-Error-Code": code, "X-Error-Message": code})

    def answer(self, status, headers, body=b"", is_large=False):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        for start in range(0, len(body) * (self.command == "GET"), PIECE):
            self.wfile.write(body[start : start + PIECE])
            self.entry["sent"] += len(body[start : start + PIECE])
            if is_large and self.hub.seconds:
                time.sleep(self.hub.seconds)


@contextlib.contextmanager
def loopback_hub():
    """Yields a `LoopbackHub`."""
    hub = LoopbackHub()
    try:
        yield hub
    finally:
        hub.server.shutdown()
        hub.server.server_close()


def write_card(folder, **metadata):
    """Writes a model card whose metadata are JSON, which is YAML, and returns the folder."""
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in metadata.items())
    (Path(folder) / "README.md").write_text(f"---\n{lines}---\n# A model\n", encoding="utf-8")
    return folder
