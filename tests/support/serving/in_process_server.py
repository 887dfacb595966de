"""A server in a thread of this process, with models that are given."""

import asyncio
import contextlib
import functools
import socket
import tempfile
import threading
from pathlib import Path

from pipelines.languages.cld2 import LanguageDetector
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.server import Server
from t2t_keras.serving.versions import ModelSource
from t2t_keras.translating.exports import versions_in
from t2t_keras.translating.languages import languages_in_name


@contextlib.contextmanager
def serving(limits=None, detector_for=LanguageDetector, options=None, **models):
    """Serves models and yields the server's address.

    Args:
        limits: {limit: value}.
        detector_for, options: arguments of `Server`.
        **models: {name: engine}. A name such as `en_de` tells the languages. An exception in place
            of an engine is raised when it is loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name, model in models.items():
            (Path(folder) / name / "1").mkdir(parents=True)
            load, shown = functools.partial(loaded, model), name.replace("_", "-")
            find = functools.partial(versions_in, Path(folder) / name)
            sources.append(ModelSource(shown, find, load, languages_in_name(shown)))
        with serving_sources(sources, limits, detector_for, options) as address:
            yield address


def loaded(model, folder):
    if isinstance(model, Exception):
        raise model
    return model


@contextlib.contextmanager
def serving_sources(sources, limits=None, detector_for=LanguageDetector, options=None):
    """Serves a list of `ModelSource`s and yields the server's address; see `serving`."""
    sock, ready, stopping = socket.create_server(("127.0.0.1", 0)), threading.Event(), []

    async def serve():
        loop = asyncio.get_running_loop()
        loop.add_signal_handler = lambda *arguments: None  # for main threads only
        server = Server(sources, Limits(**limits or {}), detector_for, **options or {})
        stopping.append(functools.partial(loop.call_soon_threadsafe, server.stop.set))

        async def tell_when_ready():
            while any(model.is_starting for model in server.models.all.values()):
                await asyncio.sleep(0.005)
            ready.set()

        telling = asyncio.create_task(tell_when_ready())
        await server.run(sock, lambda name, version: None)
        telling.cancel()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait(30)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        stopping[0]()
        thread.join(30)
