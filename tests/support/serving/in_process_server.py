"""A server in a thread of this process, with models whose engines are given."""

import asyncio
import contextlib
import functools
import socket
import tempfile
import threading
from pathlib import Path

from pipelines.languages.language_detection import LanguageDetector
from t2t_keras.serving.engine_model import EngineModel
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.served_models import ModelSource
from t2t_keras.serving.server import Server
from t2t_keras.translating.languages import languages_in_name


@contextlib.contextmanager
def serving(limits=None, detector_for=LanguageDetector, options=None, **engines):
    """Serves models and yields the server's address.

    Args:
        limits: {limit: value}.
        detector_for, options: arguments of `Server`.
        **engines: {name: engine}. A name such as `en_de` tells the languages. An exception in place
            of an engine is raised when the model is loaded.
    """
    sock, ready, stopping = socket.create_server(("127.0.0.1", 0)), threading.Event(), []

    def load(engine, folder):
        if isinstance(engine, Exception):
            raise engine
        return EngineModel(engine)

    async def serve():
        loop = asyncio.get_running_loop()
        loop.add_signal_handler = lambda *arguments: None  # for main threads only
        server = Server(sources, Limits(**limits or {}), detector_for, **options or {})
        stopping.append(functools.partial(loop.call_soon_threadsafe, server.requests.stop.set))

        async def tell_when_ready():
            while any(model.is_starting for model in server.models.all.values()):
                await asyncio.sleep(0.005)
            ready.set()

        telling = asyncio.create_task(tell_when_ready())
        await server.run(sock, lambda name, version: None)
        telling.cancel()

    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name, engine in engines.items():
            (Path(folder) / name / "1").mkdir(parents=True)
            name, languages = name.replace("_", "-"), languages_in_name(name.replace("_", "-"))
            load_engine = functools.partial(load, engine)
            own = Path(folder) / name.replace("-", "_")
            sources.append(ModelSource(name, own, load_engine, languages=languages))
        engines = {name.replace("_", "-"): engine for name, engine in engines.items()}
        thread = threading.Thread(target=asyncio.run, args=[serve()])
        thread.start()
        assert ready.wait(30)
        try:
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            stopping[0]()
            thread.join(30)
