"""The HTTP server: start and graceful shutdown. The routes are in `apis`."""

import asyncio
import logging as python_logging
import os
import signal
import socket

from absl import logging
from aiohttp import web

from t2t_keras.serving.answering import Answering
from t2t_keras.serving.apis.libretranslate import LibreTranslate
from t2t_keras.serving.apis.middleware import Middleware
from t2t_keras.serving.apis.operation import Operation
from t2t_keras.serving.apis.routes import add_routes
from t2t_keras.serving.apis.tensorflow_serving import TensorFlowServing
from t2t_keras.serving.batching import Batcher
from t2t_keras.serving.connections import AT_ONCE, Connections
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.sites import Sites
from t2t_keras.serving.versions import ServedModels

# aiohttp logs a traceback for each malformed request, so a client could fill the disk.
QUIET = python_logging.getLogger(f"{__name__}.http")
QUIET.setLevel(python_logging.CRITICAL)
WAITING_TO_CONNECT = 1024  # connections that the operating system queues until they are accepted
KERNEL_BUFFER = 128 * 1024  # bytes per connection and direction, not in any limit; Linux doubles it


class Server:
    """Serves the newest versions of models until it receives SIGTERM or SIGINT.

    Args:
        models: a `ModelSource` for each model.
        detector_for, split: see `Answering`.
        keys: the `ApiKeys` of clients. None: requests need no key.
        access_log: an `AccessLog`, or None.
        **sites: arguments of `Sites`, except the address.
    """

    def __init__(
        self, models, limits, detector_for, split=None, keys=None, access_log=None, **sites
    ):
        self.limits, self.keys, self.access_log, self.sites = limits, keys, access_log, sites
        self.metrics, self.stop = Metrics(), asyncio.Event()
        self.models = ServedModels(models, self.metrics)
        self.batcher = Batcher(limits, self.metrics)
        answering = Answering(self.models, limits, self.batcher, detector_for, split)
        operation = Operation(self.models, limits, self.metrics, keys is not None)
        apis = (operation, TensorFlowServing(answering), LibreTranslate(answering, keys))
        self.routes = operation.all_routes = [route for api in apis for route in api.routes()]

    async def run(self, sock, started):
        """Serves on a bound socket; calls `started` with name and version of each loaded model."""
        sites = Sites(sock.getsockname()[0], **self.sites)
        around = Middleware(self.routes, sites, self.metrics, self.keys, self.access_log)
        app = web.Application(middlewares=[around.answered])
        add_routes(app.router, self.routes)
        runner = web.AppRunner(
            app,
            handler_cancellation=True,  # nothing is computed for disconnected clients
            access_log=None,  # `Middleware` writes it
            logger=QUIET,
            shutdown_timeout=self.limits.grace_seconds,
        )
        await runner.setup()
        self.connections = Connections(runner.server, self.limits)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self.on_signal, signum)
        if self.access_log:  # which logrotate may announce with SIGHUP
            loop.add_signal_handler(signal.SIGHUP, lambda: None)
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # connections inherit the size
            sock.setsockopt(socket.SOL_SOCKET, buffer, KERNEL_BUFFER)
        listening = await loop.create_server(self.connections, sock=sock, backlog=AT_ONCE)
        sock.listen(WAITING_TO_CONNECT)
        watching, stopping = map(asyncio.create_task, (self.connections.watch(), self.stop.wait()))
        serving = asyncio.create_task(self.serve(started))
        try:
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()  # raises the reason why no model can be loaded
        finally:
            serving.cancel()
            listening.close()
            await runner.cleanup()
            watching.cancel()
            stopping.cancel()

    async def serve(self, started):
        await self.models.start(started)
        await self.models.watch()

    def on_signal(self, signum):
        if self.stop.is_set():
            os._exit(128 + signum)  # the second signal ends the process immediately
        logging.info("Stopping after the requests in flight")
        self.stop.set()
