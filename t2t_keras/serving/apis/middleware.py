"""Around every route: who may send requests, errors as answers, CORS, OPTIONS, metrics and log."""

import asyncio
import time

from absl import logging
from aiohttp import web

from t2t_keras.serving.apis.access_log import line_of
from t2t_keras.serving.apis.bodies import CONNECTION, json_response
from t2t_keras.serving.apis.routes import HEADER, Route
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.sites import PREFLIGHT

DISCONNECTED = 499  # status in metrics and log if the client did not wait for the answer


class Middleware:
    """Answers requests by `Route`s. `keys` and `access_log` are as in `Server`."""

    def __init__(self, routes, sites, metrics, keys=None, access_log=None):
        self.routes = {route.name: route for route in routes}
        self.sites, self.metrics, self.keys, self.access_log = sites, metrics, keys, access_log

    @web.middleware
    async def answered(self, request, handler):
        """Answers a request, and waits until the client has read most of the answer."""
        if request.transport is None:
            raise ConnectionResetError("the client has disconnected")
        connection = request[CONNECTION] = request.transport.get_protocol()
        connection.work()
        started, status, size = time.perf_counter(), DISCONNECTED, 0
        try:
            response = await self.response(request, handler, started)
            status, size = response.status, response.content_length
            connection.wait_for_client()
            await response.prepare(request)
            await response.write_eof()
        finally:
            connection.release()
            connection.wait_for_client()
            if self.access_log:
                size = 0 if request.method == "HEAD" else size
                seconds = time.perf_counter() - started
                self.access_log.add(line_of(request, status, size, seconds))
        return response

    async def response(self, request, handler, started):
        """Counts a request and turns exceptions into answers with an error."""
        unknown = Route("unknown", request.method, "", handler, "")
        route = self.routes.get(request.match_info.route.name, unknown)
        headers = {}
        try:
            response = await self.handled(request, route)
        except asyncio.CancelledError:
            self.metrics.answered(route.label, DISCONNECTED, started)
            raise
        except Exception as error:
            status, message = status_of(error, request)
            if status == 500:
                logging.exception("%s failed", route.label)
            elif status == 401:
                headers["WWW-Authenticate"] = "Bearer"
            elif status == 405:
                headers["Allow"] = allowed_methods(error)
            response = json_response({"error": message}, status)
        if response.status in (429, 503):
            headers["Retry-After"] = "1"
        response.headers.update(headers | self.sites.headers(request))
        self.metrics.answered(route.label, response.status, started)
        return response

    async def handled(self, request, route):
        """Returns the response of a route to a request that is allowed."""
        self.sites.check(request, route.computes)
        if request.method == "OPTIONS":
            return self.options(request)
        if self.keys and route.key == HEADER:
            self.keys.check(request)
        found = await route.handler(request)
        return found if isinstance(found, web.Response) else json_response(found)

    def options(self, request):
        """Answers OPTIONS, and a browser that asks whether a page may send a request."""
        error = request.match_info.http_exception
        if not isinstance(error, web.HTTPMethodNotAllowed):
            raise error  # there is no such path
        headers = {"Allow": allowed_methods(error)}
        is_preflight = "Access-Control-Request-Method" in request.headers
        if is_preflight and self.sites.allows(request.headers.get("Origin", "")):
            headers |= PREFLIGHT
        return web.Response(status=204, headers=headers)


def status_of(error, request):
    """Returns the status and the message of an answer, given the exception."""
    if isinstance(error, Refusal):
        return error.status, error.message
    if isinstance(error, web.RequestPayloadError):
        return 400, "The body cannot be decoded according to its headers"
    if isinstance(error, web.HTTPException):
        return error.status, f"Malformed request: {request.method} {request.path[:200]}"
    return 500, "The server failed to answer this request"


def allowed_methods(error):
    """Returns the methods of a path, for the header Allow."""
    return ", ".join(sorted({*error.allowed_methods, "OPTIONS"}))
