"""LibreTranslate's API, so that its clients work unchanged. See https://docs.libretranslate.com.

Fields, answers, statuses and messages are those of LibreTranslate 1.6. GET /translate and the
alternatives of HTML are additions.
"""

from t2t_keras.serving.apis.forms import MOST_FIELDS, fields_of
from t2t_keras.serving.apis.libretranslate_query import AUTO, check_string, query_of, texts_in
from t2t_keras.serving.apis.libretranslate_schemas import (
    DETECTION_BODIES,
    DETECTIONS,
    DISABLED,
    FIELDS,
    LANGUAGES,
    REQUIRED,
    SETTINGS,
    TRANSLATED,
    TRANSLATION_BODIES,
)
from t2t_keras.serving.apis.middleware import json_response
from t2t_keras.serving.apis.requests import CONNECTION
from t2t_keras.serving.apis.routes import FIELD, Route
from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.languages import name_of

KNOWN = {*FIELDS, "secret"}  # LibreTranslate's own page sends a secret
BYTES_PER_CHARACTER = 4  # maximum in UTF-8
PAGE_TIMEOUT = 500  # milliseconds that LibreTranslate's page waits for further input


class LibreTranslate:
    """Handlers of the routes.

    Args:
        answering: the `Answering`.
        keys: the `ApiKeys`, or None.
    """

    def __init__(self, answering, keys):
        self.answering, self.models, self.limits = answering, answering.models, answering.limits
        self.keys = keys

    def routes(self):
        summary, answers = "Translates a text or a list of texts", {200: TRANSLATED}
        computes = {"key": FIELD, "computes": True}
        yield Route(
            *("translate", "POST", "/translate", self.translate, summary, answers),
            bodies=TRANSLATION_BODIES,
            **computes,
        )
        yield Route(
            *("translate_by_get", "GET", "/translate", self.translate, "Translates a text"),
            answers,
            query=FIELDS,
            required=REQUIRED,
            **computes,
        )
        yield Route(
            *("detect", "POST", "/detect", self.detect, "Detects the language of a text"),
            {200: DETECTIONS},
            bodies=DETECTION_BODIES,
            **computes,
        )
        summary = "The languages, and those that each is translated into"
        yield Route("languages", "GET", "/languages", self.languages, summary, {200: LANGUAGES})
        summary, answers = "Settings for user interfaces", {200: SETTINGS}
        yield Route("settings", "GET", "/frontend/settings", self.settings, summary, answers)
        for name, what in (("translate_file", "Files translation"), ("suggest", "Suggestions")):
            yield Route(name, "POST", f"/{name}", disabled(what), f"{what}: disabled", DISABLED)

    async def translate(self, request):
        values = await self.checked_fields(request)
        query = query_of(values, self.limits)
        arguments = query.texts, query.source, query.target, query.options, request[CONNECTION]
        results, source, confidence = await self.answering.translate(*arguments)
        results = [unique([each.text for each in found]) for found in results]
        answer = {"translatedText": [best for best, *_ in results]}
        if query.source is None:
            detected = {"confidence": confidence, "language": source}
            answer["detectedLanguage"] = [detected] * len(results)
        if query.options["n_best"] > 1:
            answer["alternatives"] = [others for _, *others in results]
        if not query.is_list:
            answer = {name: values[0] for name, values in answer.items()}
        if ignored := sorted(values.keys() - KNOWN):
            names = [name[:80].encode(errors="replace").decode() for name in ignored]
            answer["ignoredFields"] = names[:MOST_FIELDS]
        return json_response(answer)

    async def checked_fields(self, request):
        """Returns the fields of a request, after checking its API key."""
        self.models.check_started()
        values = fields_of(request, await self.answering.requests.body(request))
        key = "" if values.get("api_key") is None else values["api_key"]
        check_string("api_key", key)
        if self.keys:
            self.keys.check_field(request, key)
        return values

    async def detect(self, request):
        values = await self.checked_fields(request)
        texts, _ = texts_in(values, self.limits)
        found = await self.answering.detect(texts, request[CONNECTION])
        return json_response(
            [{"confidence": confidence, "language": code} for code, confidence in found]
        )

    async def languages(self, request):
        self.models.check_started()
        targets = self.models.targets()
        return json_response(
            [
                {"code": code, "name": name_of(code), "targets": sorted({code, *targets[code]})}
                for code in sorted(targets, key=name_of)
            ]
        )

    async def settings(self, request):
        pairs = [each for _, each in self.models.languages if each] or [("", "")]
        _, target = pairs[0]
        return json_response(
            {
                "apiKeys": self.keys is not None,
                "charLimit": self.limits.max_body_bytes // BYTES_PER_CHARACTER,
                "filesTranslation": False,
                "frontendTimeout": PAGE_TIMEOUT,
                "keyRequired": self.keys is not None,
                "language": {
                    "source": {"code": AUTO, "name": "Auto Detect"},
                    "target": {"code": target, "name": name_of(target)},
                },
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        )


def disabled(what):
    """Returns the handler of a function of LibreTranslate that this server lacks."""

    async def refuse(request):
        raise Refusal(403, f"{what} are disabled on this server.")

    return refuse


def unique(texts):
    """Returns the first text, and the other texts without repetitions and empty ones."""
    best, *others = texts
    return [best, *(text for text in dict.fromkeys(others) if text not in ("", best))]
