"""t2t-serve: serves an exported run over HTTP, like TensorFlow Serving, with a page to try it out.

t2t-serve runs/ende                                  with LiteRT, or the newest SavedModel
t2t-serve runs/ende --port=8080 --name=ende
t2t-serve some/export --host=0.0.0.0                 any folder of numbered exports
t2t-serve runs/ende/export_ctranslate2               CTranslate2, which starts in a second
t2t-serve en-de=runs/ende de-en=runs/deen            two models; NAME=RUN names a model

curl -d '{"instances": ["The dog sleeps."]}' http://127.0.0.1:8501/v1/models/ende:predict
curl -d q="The dog sleeps." -d source=en -d target=de http://127.0.0.1:8501/translate

Existing clients of two interfaces work unchanged. TensorFlow Serving's: predict, metadata, and the
status of a model and its versions. LibreTranslate's: /translate, /languages and /detect, for models
whose languages are known: runs record them, or the name says so, such as en-de. /openapi.json
describes all routes. http://127.0.0.1:8501/ is a page to try the models, /healthz reports
readiness, and /metrics is for Prometheus. Texts are translated sentence by
sentence; a request can choose the beam width, a prefix and more for each text. Simultaneous
requests are batched. A newer version in the folder is loaded as soon as it appears, and no request
is lost. On SIGTERM or Ctrl-C, the server finishes the requests in flight; a second signal ends it
immediately.

By default, the server is reachable only from this machine; see --host. Without --api_key_file,
anyone who can reach the port can use the models.
"""

import asyncio
import dataclasses
import os
import socket

from absl import flags, logging

from t2t_keras.cli.flags.shared_flags import define_list, refuse_unused, shared_flags, trust_given
from t2t_keras.cli.main import show_info
from t2t_keras.cli.process.backend import load_backend, set_log_level
from t2t_keras.serving.limits import Limits

DTYPE, TRUST, ENGINE, DRAFT = shared_flags("dtype", "trust", "engine", "draft")
HOST = flags.DEFINE_string("host", "127.0.0.1", "Address to listen on; 0.0.0.0: all.")
PORT = flags.DEFINE_integer("port", 8501, "Port to listen on; 0 chooses a free one.", 0, 65535)
ALLOWED_HOSTS = define_list(
    "allowed_hosts",
    [],
    "Host names under which the server may be addressed, separated by commas, besides localhost, "
    "IP addresses and --host. Default: these alone if it is reachable only from this machine, "
    "otherwise all names. Also the name of a proxy whose web page sends requests.",
)
ALLOWED_ORIGINS = define_list(
    "allowed_origins",
    [],
    "Other sites whose web pages may use the server, such as https://example.com, separated by "
    "commas; *: all sites. Default: none.",
)
API_KEY_FILE = flags.DEFINE_string(
    "api_key_file",
    None,
    "Text file with an API key per line; lines that begin with # are ignored. Requests need one of "
    "the keys, except those for the page, /languages, /frontend/settings, /openapi.json, /health "
    "and /healthz. The file is read again when it changes. Default: no keys are needed.",
)
ACCESS_LOG = flags.DEFINE_string(
    "access_log",
    None,
    "File to which a line per request is appended, in the combined format of Apache and nginx, "
    "then the seconds it took, without texts and keys; -: standard output. A renamed file is "
    "opened again. Default: no access log.",
)
NAME = flags.DEFINE_string(
    "name", None, "Name of the model, if there is one. Default: the run folder's name."
)
SPLIT = flags.DEFINE_enum(
    "split",
    None,
    ["auto", "off"],
    "auto: translate each sentence of a text by itself; off: each text as one sentence. A request "
    "with options can choose otherwise. Default: auto, but off for a run that was trained on parse "
    "trees or documents.",
)
GLOSSARY = define_list(
    "glossary",
    [],
    "Glossary for requests without one of their own, a file as in t2t-translate: FILE, or with "
    "several models NAME=FILE,NAME=FILE. A changed file is read again. Default: none.",
)
LIMITS = [
    (flags.DEFINE_float if field.type is float else flags.DEFINE_integer)(
        field.name, field.default, field.metadata["purpose"], field.metadata["least"]
    )
    for field in dataclasses.fields(Limits)
    if field.metadata
]


def main(arguments):
    from t2t_keras.cli.served_versions import find_models, split_name
    from t2t_keras.runs.exports.fitting import warn_if_stale
    from t2t_keras.translating.exports import engine_of, is_export

    show_info("%(asctime)s %(message)s")
    limits = Limits(**{flag.name: flag.value for flag in LIMITS})
    options = clients()
    folders = [split_name(argument)[1] for argument in arguments]
    if folders and all(map(is_export, folders)):
        refuse_unused([TRUST], "with an export, which executes no plug-in files")
    trust_given(folders)
    models = find_models(
        arguments, NAME.value, ENGINE.value, DTYPE.value, GLOSSARY.value, DRAFT.value
    )
    with listening(HOST.value, PORT.value) as sock:
        newest = [versions[max(versions)] for each in models if (versions := each.find())]
        for version in newest:
            warn_if_stale(version)
        if any(engine_of(version) == "tensorflow" for version in newest):
            load_backend()
            import tensorflow as tf

            # One more thread than cores, so that compilation does not block requests.
            tf.config.threading.set_inter_op_parallelism_threads(os.cpu_count() + 1)
        else:
            set_log_level()
        from pipelines.languages.cld2 import LanguageDetector
        from t2t_keras.serving.server import Server

        host, port = sock.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

        def started(name, version):
            print(f"{name}, version {version}, is served at {address}/", flush=True)

        async def serve():
            server = Server(models, limits, LanguageDetector, split=SPLIT.value, **options)
            await server.run(sock, started)
            logging.flush()
            os._exit(0)  # no request is in flight; a version that is still loading is abandoned

        asyncio.run(serve())


def clients():
    """Returns the arguments of `Server` about its clients and the log of their requests."""
    from t2t_keras.cli.text_files.output_files import check_outputs
    from t2t_keras.serving.apis.access_log import AccessLog
    from t2t_keras.serving.apis.api_keys import ApiKeys

    for flag in (ACCESS_LOG, API_KEY_FILE):
        if flag.value == "":
            raise ValueError(f"--{flag.name}: give the name of a file")
    log = None if ACCESS_LOG.value == "-" else ACCESS_LOG.value
    check_outputs(log, {"api_key_file": API_KEY_FILE.value}, name="access_log")
    return {
        "keys": None if API_KEY_FILE.value is None else ApiKeys(API_KEY_FILE.value),
        "access_log": None if ACCESS_LOG.value is None else AccessLog(ACCESS_LOG.value),
        "host": HOST.value,
        "names": ALLOWED_HOSTS.value,
        "origins": ALLOWED_ORIGINS.value,
    }


def listening(host, port):
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        reason = error.strerror.partition(" (")[0]
        raise ValueError(
            f"cannot listen on --host={host} --port={port}: {reason}. --port=0 chooses a free port"
        ) from error
