"""Around every route: who may send requests, errors as answers, CORS, OPTIONS, metrics and log."""

import asyncio
import time

from absl import logging
from aiohttp import web

from t2t_keras.serving.apis.access_log import line_of
from t2t_keras.serving.apis.json_values import as_json
from t2t_keras.serving.apis.requests import CONNECTION
from t2t_keras.serving.apis.routes import HEADER, error_of
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.sites import PREFLIGHT

AVAILABLE_WHILE_STOPPING = {"metrics"}
DISCONNECTED = 499  # status in metrics and log if the client did not wait for the answer


class Middleware:
    """Answers requests by routes.

    Args:
        routes: all `Route`s.
        requests: the `Requests`.
        sites: the `Sites`.
        metrics: the `Metrics`.
        keys: the `ApiKeys`, or None.
        access_log: the `AccessLog`, or None.
    """

    def __init__(self, routes, requests, sites, metrics, keys=None, access_log=None):
        self.routes = {route.name: route for route in routes}
        self.requests, self.sites, self.metrics = requests, sites, metrics
        self.keys, self.access_log = keys, access_log

    def aiohttp(self):
        """Returns aiohttp's middleware."""

        @web.middleware
        async def answered(request, handler):
            return await self.answered(request, handler)

        return answered

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
        """Counts a request and turns exceptions into answers with an error."""
        started = time.perf_counter()
        route = self.routes.get(request.match_info.route.name)
        label = route.label if route else "unknown"
        headers, status, message = {}, None, ""
        try:
            self.sites.check(request, bool(route and route.computes))
            if request.method == "OPTIONS":
                response = self.options(request)
            else:
                response = await self.handled(request, handler, route)
        except Refusal as refusal:
            status, message = refusal.status, refusal.message
            if status == 401:
                headers["WWW-Authenticate"] = "Bearer"
        except web.RequestPayloadError:
            status, message = 400, "The body cannot be decoded according to its headers"
        except web.HTTPException as error:
            status = error.status
            message = f"Malformed request: {request.method} {request.path[:200]}"
            if status == 405:
                headers["Allow"] = allowed_methods(error)
        except asyncio.CancelledError:
            self.metrics.answered(label, DISCONNECTED, started)
            if self.access_log:
                seconds = time.perf_counter() - started
                self.access_log.add(line_of(request, DISCONNECTED, 0, seconds))
            raise
        except Exception:
            logging.exception("%s failed", label)
            status, message = 500, "The server failed to answer this request"
        if status:
            error = route.error if route else error_of
            response = json_response(error(message), status)
        if response.status in (429, 503):
            headers["Retry-After"] = "1"
        response.headers.update(headers | self.sites.headers(request))
        self.metrics.answered(label, response.status, started)
        return response

    async def handled(self, request, handler, route):
        if not (route and route.label in AVAILABLE_WHILE_STOPPING):
            self.requests.check_open()
        if self.keys and route and route.key == HEADER:
            self.keys.check_header(request)
        return await handler(request)

    def options(self, request):
        """Answers OPTIONS, and a browser that asks whether a page may send a request."""
        error = request.match_info.http_exception
        if not isinstance(error, web.HTTPMethodNotAllowed):
            raise error  # there is no such path
        headers = {"Allow": allowed_methods(error)}
        if self.sites.is_preflight(request):
            headers |= PREFLIGHT
        return web.Response(status=204, headers=headers)


def allowed_methods(error):
    """Returns the methods of a path, for the header Allow."""
    return ", ".join(sorted({*error.allowed_methods, "OPTIONS"}))


def json_response(value, status=200):
    return web.Response(body=as_json(value), status=status, content_type="application/json")
