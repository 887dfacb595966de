"""t2t-serve: serves an exported run over HTTP, as TensorFlow Serving does, and with a page.

t2t-serve runs/ende                                  what t2t-export wrote into runs/ende/export
t2t-serve runs/ende --port=8080 --name=ende
t2t-serve some/export --host=0.0.0.0                 any folder of numbered SavedModels

curl -d '{"instances": ["The dog sleeps."]}' http://127.0.0.1:8501/v1/models/ende:predict

The REST interface is that of TensorFlow Serving, so its clients work unchanged: predict, metadata
and status of a model and its versions. http://127.0.0.1:8501/ is a page to try it, /healthz says
whether requests are answered, /metrics is for Prometheus. Requests that come together are computed
together. A newer version in the folder is taken up as it appears, and no request is lost.
SIGTERM and Ctrl-C finish what is in hand; a second one ends at once.

Whoever can reach the port can use the model: it listens on this machine alone unless --host says
otherwise.
"""

import asyncio
import os
import re
import socket
from pathlib import Path

from absl import flags, logging

from t2t_keras.cli.main import run
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.server import Server
from t2t_keras.serving.versions import versions_in

HOST = flags.DEFINE_string("host", "127.0.0.1", "The address to listen on; 0.0.0.0: all.")
PORT = flags.DEFINE_integer("port", 8501, "The port. 0: a free one.", 0, 65535)
NAME = flags.DEFINE_string("name", None, "The model's name. None: that of the run's folder.")
DEFAULTS = Limits()
BATCH = flags.DEFINE_integer("batch", DEFAULTS.batch, "Texts computed together.")
WAIT = flags.DEFINE_float("wait", DEFAULTS.wait, "Milliseconds that a batch waits to be filled.")
WORKERS = flags.DEFINE_integer("workers", DEFAULTS.workers, "Batches at a time.")
QUEUE = flags.DEFINE_integer("queue", DEFAULTS.queue, "Texts in hand; beyond it is 429.")
BODY = flags.DEFINE_integer("body", DEFAULTS.body, "Bytes of a request; beyond it is 413.")
LINE = flags.DEFINE_integer("line", DEFAULTS.line, "Bytes of a text; beyond it is 413.")
ATTENTION_LINE = flags.DEFINE_integer(
    "attention_line",
    DEFAULTS.attention_line,
    "The same where the answer grows with the square of the text, as attention does.",
)
PATIENCE = flags.DEFINE_integer("patience", DEFAULTS.patience, "Seconds to send a request in.")
GRACE = flags.DEFINE_integer("grace", DEFAULTS.grace, "Seconds to finish in when stopped.")


def main(arguments):
    logging.set_verbosity(logging.INFO)
    if len(arguments) != 1:
        raise ValueError(f"takes a run's folder. Received: {' '.join(arguments) or 'none'}")
    folder, name = export_of(Path(arguments[0]))
    if NAME.value is not None:
        name = NAME.value
    if not re.fullmatch(r"[^/:\x00-\x1f]+", name):
        raise ValueError(f"--name must be a name without / and :. Received: {name!r}")
    limits = Limits(
        batch=BATCH.value,
        wait=WAIT.value,
        workers=WORKERS.value,
        queue=QUEUE.value,
        body=BODY.value,
        line=LINE.value,
        attention_line=ATTENTION_LINE.value,
        patience=PATIENCE.value,
        grace=GRACE.value,
    )
    limits.validate()
    with listening(HOST.value, PORT.value) as sock:
        host, port = sock.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

        def started(version):
            print(f"{name}, version {version}, is served on {address}/", flush=True)

        async def serve():
            await Server(name, folder, limits).run(sock, started)
            logging.flush()
            os._exit(0)  # nothing is in hand; a version that is being loaded is not waited for

        asyncio.run(serve())


def export_of(folder):
    """The folder of a run's versions, and the run's name; of an export folder itself the same."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    for export in (folder / "export", folder):
        if versions_in(export):
            whole = export.resolve()
            named = whole.parent if whole.name.startswith("export") else whole
            return export, named.name
    raise ValueError(
        f"{folder} has nothing exported yet: neither in it nor in its export/ is a folder with a "
        f"version's number. t2t-export {folder} makes one"
    )


def listening(host, port):
    """A socket bound to that address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        reason = error.strerror.partition(" (")[0]
        raise ValueError(
            f"can not listen on --host={host} --port={port}: {reason}. --port=0 takes a free port"
        ) from error


def entry():
    run(main)


if __name__ == "__main__":
    entry()
