"""t2t-serve: serves an exported run over HTTP, like TensorFlow Serving, with a page to try it out.

t2t-serve runs/ende                                  with LiteRT, or the newest SavedModel
t2t-serve runs/ende --port=8080 --name=ende
t2t-serve some/export --host=0.0.0.0                 any folder of numbered SavedModels
t2t-serve runs/ende/export_ctranslate2               CTranslate2, which starts in a second

curl -d '{"instances": ["The dog sleeps."]}' http://127.0.0.1:8501/v1/models/ende:predict

The REST interface is TensorFlow Serving's, so existing clients work unchanged: predict, metadata,
and the status of a model and its versions. http://127.0.0.1:8501/ is a page to try the model,
/healthz reports readiness, and /metrics is for Prometheus. Texts are translated sentence by
sentence; a request can choose the beam width, a prefix and more for each text. Simultaneous
requests are batched. A newer version in the folder is loaded as soon as it appears, and no request
is lost. On SIGTERM or Ctrl-C, the server finishes the requests in flight; a second signal ends it
immediately.

By default, the server is reachable only from this machine; see --host. It has no authentication:
anyone who can reach the port can use the model.
"""

import asyncio
import os
import re
import socket

from absl import flags, logging

from t2t_keras.cli.flags.shared_flags import dtype_flag, engine_flag
from t2t_keras.cli.main import one_run, run, show_info
from t2t_keras.cli.process.backend import load_backend, stderr_filter
from t2t_keras.serving.limits import Limits

DTYPE = dtype_flag()
ENGINE = engine_flag()
HOST = flags.DEFINE_string("host", "127.0.0.1", "Address to listen on; 0.0.0.0: all.")
PORT = flags.DEFINE_integer("port", 8501, "Port to listen on; 0 chooses a free one.", 0, 65535)
ALLOWED_HOSTS = flags.DEFINE_list(
    "allowed_hosts",
    [],
    "Host names under which the server may be addressed, separated by commas, besides localhost, "
    "IP addresses and --host. Default: these alone if it is reachable only from this machine, "
    "otherwise all names. Also the name of a proxy whose web page sends requests.",
)
NAME = flags.DEFINE_string("name", None, "Name of the model. Default: the run folder's name.")
COMPILE = flags.DEFINE_boolean(
    "compile",
    True,
    "Compile the search of a SavedModel for up to 4 texts with XLA, in the background, once "
    "requests need it; they are answered sooner then.",
)
SPLIT = flags.DEFINE_enum(
    "split",
    None,
    ["auto", "off"],
    "auto: translate each sentence of a text by itself; off: each text as one sentence. A request "
    "with options can choose otherwise. Default: auto, but off for a run that was trained on parse "
    "trees.",
)
DEFAULTS = Limits()


def limit(name, purpose):
    """Defines the flag of a limit, with the default from `Limits`."""
    default = getattr(DEFAULTS, name)
    define = flags.DEFINE_float if isinstance(default, float) else flags.DEFINE_integer
    return define(name, default, purpose)


LIMITS = (
    limit("max_batch_rows", "Maximum number of texts in a batch."),
    limit("batch_wait_ms", "Time that a batch waits for more texts, in milliseconds."),
    limit("workers", "Number of batches computed at the same time."),
    limit(
        "max_rows_in_flight",
        "Maximum number of texts in flight, twice the maximum of a request; further requests get "
        "HTTP 429.",
    ),
    limit("max_body_bytes", "Maximum size of a request in bytes; larger ones get HTTP 413."),
    limit(
        "max_text_bytes",
        "Maximum size of a text in bytes; requests with a larger one get HTTP 413.",
    ),
    limit(
        "max_row_values",
        "Maximum number of values in a row, such as the ids of a sentence in a SavedModel of "
        "--ids_only; requests with a longer row get HTTP 413.",
    ),
    limit(
        "max_attention_text_bytes",
        "Maximum size in bytes of a text in an attention request, whose answer grows with the "
        "square of the text's length; requests with a larger text get HTTP 413.",
    ),
    limit(
        "max_memory_mb",
        "Maximum memory for requests, results and answers that are not read yet, of all clients, "
        "in megabytes. Beyond it, connections that do not read are closed; if there are none, "
        "requests get HTTP 503.",
    ),
    limit(
        "max_connections",
        "Maximum number of open connections. Beyond it, a new one replaces the one that has waited "
        "longest, of the client with the most waiting connections.",
    ),
    limit(
        "client_timeout_seconds",
        "Time in seconds that a client may take to send a request, to begin the next one on the "
        "same connection, or to read a part of its answer.",
    ),
    limit(
        "grace_seconds", "Time to finish the requests in flight when the server stops, in seconds."
    ),
)


def main(arguments):
    from t2t_keras.cli.served_versions import find_versions
    from t2t_keras.translating.find import needs_tensorflow

    show_info("%(asctime)s %(message)s")
    folder, name, source = find_versions(one_run(arguments), ENGINE.value, DTYPE.value)
    if NAME.value is not None:
        name = NAME.value
    if not re.fullmatch(r"[^/:\x00-\x1f]+", name):
        raise ValueError(f"--name must not contain / or :. Received: {name!r}")
    limits = Limits(**{flag.name: flag.value for flag in LIMITS})
    limits.validate()
    with listening(HOST.value, PORT.value) as sock:
        if flags.FLAGS["verbosity"].value < 1:
            # TensorFlow warns of each failed assertion, so clients could fill the disk.
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        versions = source["find"](folder)
        if needs_tensorflow(versions[max(versions)]):
            load_backend()
            add_thread()
        else:
            stderr_filter()
        from t2t_keras.serving.server import Server

        host, port = sock.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

        def started(version):
            print(f"{name}, version {version}, is served at {address}/", flush=True)

        async def serve():
            server = Server(
                name,
                folder,
                limits,
                HOST.value,
                ALLOWED_HOSTS.value,
                compile_shapes=COMPILE.value,
                split=None if SPLIT.value is None else SPLIT.value == "auto",
                **source,
            )
            await server.run(sock, started)
            logging.flush()
            os._exit(0)  # no request is in flight; a version that is still loading is abandoned

        asyncio.run(serve())


def add_thread():
    """Gives TensorFlow one more thread than cores, so that compilation does not block requests."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(os.cpu_count() + 1)


def listening(host, port):
    """Returns a socket bound to the address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        reason = error.strerror.partition(" (")[0]
        raise ValueError(
            f"cannot listen on --host={host} --port={port}: {reason}. --port=0 chooses a free port"
        ) from error


def entry():
    run(main)


if __name__ == "__main__":
    entry()
