"""The HTTP server: its routes, start and graceful shutdown.

GET  /                                         web page
GET  /healthz                                  200 while requests are served, otherwise 503
GET  /metrics                                  metrics for Prometheus
GET  /v1/models/NAME[/versions/V]              status of the versions
GET  /v1/models/NAME[/versions/V]/metadata     signatures
POST /v1/models/NAME[/versions/V]:predict      predictions
"""

import asyncio
import functools
import logging as python_logging
import os
import signal
import socket
import time

from absl import logging
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from t2t_keras.export.formats import versions_in
from t2t_keras.serving.batching import Workers
from t2t_keras.serving.connections import AT_ONCE, Connection, Connections
from t2t_keras.serving.engine_model import EngineModel
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.page import page
from t2t_keras.serving.predictor import Predictor
from t2t_keras.serving.rest import as_json, query_of
from t2t_keras.serving.sites import Sites
from t2t_keras.serving.versions import Versions
from t2t_keras.translating.export_folders import is_litert
from t2t_keras.translating.languages import languages_of

# aiohttp logs a traceback for each malformed request, so a client could fill the disk.
QUIET = python_logging.getLogger(f"{__name__}.http")
QUIET.setLevel(python_logging.CRITICAL)
MODEL = r"/v1/models/{name:[^/:]+}"
VERSION = MODEL + r"/versions/{version:\d{1,18}}"
WAITING_TO_CONNECT = 1024  # connections that the operating system queues until they are accepted
KERNEL_BUFFER = 128 * 1024  # bytes per connection and direction, not in any limit; Linux doubles it
SEND_SECONDS = 5.0  # time limit for sending computed answers when the server stops
AVAILABLE_WHILE_STOPPING = {"metrics"}
CONNECTION = web.RequestKey("connection", Connection)


class Server:
    """Serves the newest version in a folder until it receives SIGTERM or SIGINT.

    Args:
        name: name of the model.
        folder: folder with the versions of the model.
        limits: `Limits`.
        host, allowed_hosts: names under which the server is known; see `Sites`.
        load, find: see `Versions`. By default, `load_model` and numbered folders.
        compile_shapes: whether XLA compiles the search of SavedModels for small batches.
        split: see `Predictor`.
    """

    def __init__(
        self,
        name,
        folder,
        limits,
        host="",
        allowed_hosts=(),
        load=None,
        find=versions_in,
        compile_shapes=True,
        split=None,
    ):
        self.limits, self.metrics = limits, Metrics()
        self.host, self.allowed_hosts = host, allowed_hosts
        self.workers = Workers(limits, self.metrics)
        load = load or functools.partial(load_model, compile_shapes=compile_shapes)
        self.versions = Versions(name, folder, self.workers, load, find)
        self.predictor = Predictor(limits, self.workers, split)
        self.page = page([(name, newest_languages(find(folder)))], limits)
        self.stop = asyncio.Event()
        self.in_flight, self.idle = 0, asyncio.Event()
        self.idle.set()
        self.receiving = set()  # the timeouts of request bodies that are still arriving

    async def run(self, sock, started):
        """Serves on a socket.

        Args:
            sock: a bound socket.
            started: called with the version's number once the first version is loaded.
        """
        runner = web.AppRunner(
            self.application(),
            handler_cancellation=True,  # nothing is computed for disconnected clients
            access_log=None,
            logger=QUIET,
            shutdown_timeout=SEND_SECONDS,
        )
        await runner.setup()
        self.sites = Sites(sock.getsockname()[0], self.host, self.allowed_hosts)
        self.connections = Connections(runner.server, self.limits)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self.on_signal, signum)
        watching = asyncio.create_task(self.connections.watch())
        try:
            await self.serve(sock, started)
        finally:
            await runner.cleanup()
            watching.cancel()

    async def serve(self, sock, started):
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # connections inherit the size
            sock.setsockopt(socket.SOL_SOCKET, buffer, KERNEL_BUFFER)
        listening = await asyncio.get_running_loop().create_server(
            self.connections, sock=sock, backlog=AT_ONCE
        )
        sock.listen(WAITING_TO_CONNECT)
        try:
            if await self.until_stopped(self.versions.start()):
                started(self.versions.current.number)
                await self.until_stopped(self.versions.watch())
            await self.finish()
        finally:
            listening.close()

    async def until_stopped(self, work):
        """Awaits `work`; returns whether it finished before the server had to stop."""
        work, stop = asyncio.ensure_future(work), asyncio.create_task(self.stop.wait())
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, stop):
            task.cancel()
        if stop.done() and not work.done():
            return False
        work.result()
        return True

    def on_signal(self, signum):
        if self.stop.is_set():
            os._exit(128 + signum)  # the second signal ends the process immediately
        logging.info("Stopping after the requests in flight")
        self.stop.set()
        for timeout in self.receiving:  # a request that is still arriving is refused
            timeout.reschedule(asyncio.get_running_loop().time())

    async def finish(self):
        try:
            async with asyncio.timeout(self.limits.grace_seconds):
                await self.idle.wait()
        except TimeoutError:
            logging.warning("%d requests were not answered", self.in_flight)

    def application(self):
        app = web.Application(middlewares=[self.answered])
        app.router.add_get("/", self.show_page, name="page")
        app.router.add_get("/healthz", self.health, name="health")
        app.router.add_get("/metrics", self.show_metrics, name="metrics")
        for path, suffix in ((MODEL, ""), (VERSION, "_of_version")):
            app.router.add_get(path, self.status, name="status" + suffix)
            app.router.add_get(path + "/metadata", self.metadata, name="metadata" + suffix)
            verbs = path + ":{verb:predict|classify|regress}"
            app.router.add_post(verbs, self.predict, name="predict" + suffix)
        return app

    @web.middleware
    async def answered(self, request, handler):
        """Answers a request, and waits until the client has read most of the answer."""
        if request.transport is None:
            raise ConnectionResetError("the client has disconnected")
        connection = request[CONNECTION] = request.transport.get_protocol()
        connection.work()
        try:
            response = await self.response(request, handler)
            if connection.reserved:
                response.force_close()
            connection.wait_for_client()
            await response.prepare(request)
            await response.write_eof()
        finally:
            connection.release()
            connection.wait_for_client()
        return response

    async def response(self, request, handler):
        """Counts a request and turns exceptions into TensorFlow Serving's error answers."""
        started = time.perf_counter()
        route = (request.match_info.route.name or "unknown").removesuffix("_of_version")
        headers = {}
        try:
            self.sites.check(request)
            if self.stop.is_set() and route not in AVAILABLE_WHILE_STOPPING:
                raise Refusal(503, "The server is stopping")
            response = await handler(request)
        except Refusal as refusal:
            response = self.error(refusal.status, refusal.message)
        except web.RequestPayloadError:
            response = self.error(400, "The body cannot be decoded according to its headers")
        except web.HTTPException as error:
            if error.status == 405:
                headers["Allow"] = error.headers["Allow"]
            response = self.error(
                error.status, f"Malformed request: {request.method} {request.path[:200]}"
            )
        except asyncio.CancelledError:
            self.metrics.answered(route, 499, started)  # the client has disconnected
            raise
        except Exception:
            logging.exception("%s failed", route)
            response = self.error(500, "The server failed to answer this request")
        if response.status in (429, 503):
            headers["Retry-After"] = "1"
        response.headers.update(headers)
        self.metrics.answered(route, response.status, started)
        return response

    def error(self, status, message):
        return web.Response(
            body=as_json({"error": message}), status=status, content_type="application/json"
        )

    async def show_page(self, request):
        return web.Response(text=self.page, content_type="text/html")

    async def health(self, request):
        if self.versions.current is None:
            raise Refusal(503, "The model is still loading")
        return web.Response(text="ok\n")

    async def show_metrics(self, request):
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def status(self, request):
        return self.reply(self.versions.status(*model_and_version(request)))

    async def metadata(self, request):
        name, number = model_and_version(request)
        version = self.versions.find(name, number)
        return self.reply(
            {
                "model_spec": {
                    "name": name,
                    "signature_name": "",
                    "version": str(version.number),
                },
                "metadata": {"signature_def": {"signature_def": version.model.metadata}},
            }
        )

    async def predict(self, request):
        name, number = model_and_version(request)
        self.versions.check_name(name)
        if request[CONNECTION].reserved:
            raise Refusal(503, "All connections of the server are busy. Try again in a moment")
        if request.match_info["verb"] != "predict":
            raise Refusal(
                400,
                f"{request.match_info['verb']!r} is not supported: the signatures take and return "
                "tensors. Use ':predict'",
            )
        query = query_of(await self.body(request))
        if self.stop.is_set():
            raise Refusal(503, "The server is stopping")
        self.in_flight += 1
        self.idle.clear()
        try:
            with self.versions.find(name, number).in_use() as version:
                body = await self.predictor(query, version, request[CONNECTION])
                return web.Response(body=body, content_type="application/json")
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self.idle.set()

    async def body(self, request):
        """Reads the body of a request within the limits on its size and time."""
        connection = request[CONNECTION]
        connection.wait_for_client(timed=False)
        try:
            async with asyncio.timeout(self.limits.client_timeout_seconds) as timeout:
                self.receiving.add(timeout)
                try:
                    return await self.read(request, connection)
                finally:
                    self.receiving.discard(timeout)
        except TimeoutError:
            if self.stop.is_set():
                raise Refusal(503, "The server is stopping") from None
            raise Refusal(408, "The request did not arrive in time") from None
        finally:
            connection.work()

    async def read(self, request, connection):
        too_large = Refusal(413, f"A request may have at most {self.limits.max_body_bytes:,} bytes")
        if (request.content_length or 0) > self.limits.max_body_bytes:
            raise too_large
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > self.limits.max_body_bytes:
                raise too_large
            connection.hold(len(chunk))
        return body

    def reply(self, value):
        return web.Response(body=as_json(value), content_type="application/json")


def newest_languages(versions):
    """Returns the `Languages` of the newest version, or None if they are not known.

    Args:
        versions: {number: path}. A damaged version is reported when it is loaded.
    """
    try:
        return languages_of(versions[max(versions)]) if versions else None
    except (OSError, ValueError):
        return None


def load_model(folder, **options):
    """Returns the model in a version's folder.

    Args:
        folder: folder with a SavedModel or a LiteRT model.
        **options: options of `ServedSavedModel`, used only for a SavedModel.
    """
    if is_litert(folder):
        from t2t_keras.translating.engines.litert import LiteRTEngine  # loads LiteRT

        return EngineModel(LiteRTEngine(folder))
    from t2t_keras.serving.models import ServedSavedModel  # loads TensorFlow

    return ServedSavedModel(folder, **options)


def model_and_version(request):
    """Returns the name of the model and the number of the version in the path, or None."""
    number = request.match_info.get("version")
    return request.match_info["name"], None if number is None else int(number)
