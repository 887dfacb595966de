"""Routes for people and for the operation of a server: page, health, metrics, OpenAPI document."""

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from t2t_keras.serving.apis.middleware import json_response
from t2t_keras.serving.apis.openapi import document
from t2t_keras.serving.apis.routes import ANY_OBJECT, HEADER, Route, object_of
from t2t_keras.serving.page.page import page

METRICS = CONTENT_TYPE_LATEST.partition(";")[0]


class Operation:
    """Handlers of the routes.

    Args:
        models: the `ServedModels`.
        limits: `Limits`.
        metrics: the `Metrics`.
        needs_key: whether the server requires API keys.
    """

    def __init__(self, models, limits, metrics, needs_key):
        self.models, self.limits = models, limits
        self.metrics, self.needs_key = metrics, needs_key
        self.all_routes = []  # set when all routes are known

    def routes(self):
        health = "Whether requests are served"
        status = object_of({"status": {"const": "ok"}})
        yield Route("page", "GET", "/", self.show_page, "The web page", {200: "text/html"})
        yield Route("health", "GET", "/healthz", self.healthz, health, {200: "text/plain"})
        yield Route(
            "health_of_libretranslate", "GET", "/health", self.health, health, {200: status}
        )
        yield Route(
            "metrics",
            "GET",
            "/metrics",
            self.show_metrics,
            "Metrics for Prometheus",
            {200: METRICS},
            key=HEADER,
        )
        yield Route(
            "openapi", "GET", "/openapi.json", self.openapi, "This document", {200: ANY_OBJECT}
        )

    async def show_page(self, request):
        return web.Response(text=page(self.models.languages, self.limits), content_type="text/html")

    async def healthz(self, request):
        self.check_health()
        return web.Response(text="ok\n")

    async def health(self, request):
        self.check_health()
        return json_response({"status": "ok"})

    def check_health(self):
        self.models.check_started()

    async def show_metrics(self, request):
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def openapi(self, request):
        known = self.models.all, self.models.targets(), self.needs_key
        return json_response(document(self.all_routes, *known))
