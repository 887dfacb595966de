"""Routes for people and for the operation of a server: page, health, metrics, OpenAPI document."""

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from t2t_keras.serving.apis.routes import HEADER, Route, document
from t2t_keras.serving.page.page import page

HEALTHY = {"status": "ok"}


class Operation:
    """Handlers of the routes. `needs_key` tells whether the server requires API keys."""

    def __init__(self, models, limits, metrics, needs_key):
        self.models, self.limits = models, limits
        self.metrics, self.needs_key = metrics, needs_key
        self.all_routes = []  # set when all routes are known

    def routes(self):
        health, described = "Whether requests are served", {"openapi": "3.1.0"}
        metrics = "Metrics for Prometheus", CONTENT_TYPE_LATEST.partition(";")[0]
        return [
            Route("page", "GET", "/", self.page, "The web page", "text/html"),
            Route("health", "GET", "/healthz", self.health, health, "text/plain"),
            Route("health_of_libretranslate", "GET", "/health", self.health, health, HEALTHY),
            Route("metrics", "GET", "/metrics", self.show_metrics, *metrics, key=HEADER),
            Route("openapi", "GET", "/openapi.json", self.openapi, "This document", described),
        ]

    async def page(self, request):
        return web.Response(text=page(self.models.languages, self.limits), content_type="text/html")

    async def health(self, request):
        self.models.check_started()
        return HEALTHY if request.path == "/health" else web.Response(text="ok\n")

    async def show_metrics(self, request):
        return web.Response(
            body=generate_latest(self.metrics.registry),
            headers={"Content-Type": CONTENT_TYPE_LATEST},
        )

    async def openapi(self, request):
        return document(self.all_routes, self.models.all, self.models.targets(), self.needs_key)
