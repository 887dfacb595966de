"""A server on the loopback that speaks the HTTP of the Hugging Face Hub, with accidents on demand.

Large files are redirected to a second server, as the Hub redirects them to its network of caches.
"""

import contextlib
import hashlib
import json
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from support.importing.loopback_handlers import HubHandler, StorageHandler

LARGE = {".safetensors", ".bin", ".h5", ".npz", ".tflite", ".spm", ".model"}


class LoopbackHub:
    """Repositories, served at `address` until `close` is called.

    Attributes:
        log: a dict for each request: path, range, token, sent (bytes of the body), done.
        gated: {repository: token that may read it}.
        statuses: {regular expression of a path: (status, headers) to answer instead}.
        break_after: bytes of a large file after which the connection is cut, once. None: never.
        seconds: duration of each piece of a large file.
        corrupt: names of files in which one byte differs from the listing.
        endless: regular expressions of paths whose answers do not end.
    """

    def __init__(self):
        self.folders, self.log = {}, []
        self.gated, self.statuses, self.corrupt = {}, {}, set()
        self.endless, self.break_after, self.seconds = set(), None, 0.0
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
            contents, is_large = path.read_bytes(), path.suffix in LARGE
            oid = hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()
            digest = hashlib.sha256(contents).hexdigest() if is_large else oid
            file = {"size": len(contents), "oid": oid, "digest": digest, "large": is_large}
            found[path.relative_to(folder).as_posix()] = file
        return found

    def info(self, repository):
        siblings = []
        for name, file in self.files(repository).items():
            siblings.append({"rfilename": name, "size": file["size"], "blobId": file["oid"]})
            if file["large"]:
                siblings[-1]["lfs"] = {"sha256": file["digest"], "size": file["size"]}
        return {"id": repository, "sha": self.commit(repository), "siblings": siblings}

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

        template = self.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", self.address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 4096)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")


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
