"""LibreTranslate's API, so that its clients work unchanged. See https://docs.libretranslate.com.

Fields, answers, statuses and messages are those of LibreTranslate 1.6. GET /translate and the
alternatives of HTML are additions.
"""

from t2t_keras.serving.apis.forms import MOST_FIELDS, fields_of
from t2t_keras.serving.apis.libretranslate_query import (
    AUTO,
    FORMATS,
    HTML,
    check_string,
    query_of,
    texts_in,
)
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
from t2t_keras.serving.apis.requests import CONNECTION, check_connection
from t2t_keras.serving.apis.routes import FIELD, Route
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.predictor import are_short
from t2t_keras.translating.languages import code_of, name_of
from t2t_keras.translating.request import Request

KNOWN = {*FIELDS, "secret"}  # LibreTranslate's own page sends a secret
BYTES_PER_CHARACTER = 4  # maximum in UTF-8
PAGE_TIMEOUT = 500  # milliseconds that LibreTranslate's page waits for further input
NO_LANGUAGES = (
    "The languages of the models are not known. Start the server with a pair of languages as the "
    "name of each model: t2t-serve en-de=RUN"
)


class LibreTranslate:
    """Handlers of the routes.

    Args:
        models: the `ServedModels`.
        predictor: the `Predictor`.
        requests: the `Requests`.
        keys: the `ApiKeys`, or None.
        detector_for: function that takes codes of languages and returns a `LanguageDetector`. It
            raises `ValueError` if a package is missing.
    """

    def __init__(self, models, predictor, requests, keys, detector_for):
        self.models, self.predictor, self.requests = models, predictor, requests
        self.limits, self.keys, self.detector_for = requests.limits, keys, detector_for
        self.detectors = {}  # {codes: the function that detects them}

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
        connection = request[CONNECTION]
        with self.requests.computing():
            source, confidence = await self.source_of(query, connection.client)
            results = await self.translations(query, source, connection)
        answer = {"translatedText": [best for best, *_ in results]}
        if query.source == AUTO:
            detected = {"confidence": confidence, "language": source}
            answer["detectedLanguage"] = [detected] * len(results)
        if query.alternatives:
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
        check_connection(request)
        values = fields_of(request, await self.requests.body(request))
        key = "" if values.get("api_key") is None else values["api_key"]
        check_string("api_key", key)
        if self.keys:
            self.keys.check_field(request, key)
        return values

    async def source_of(self, query, client):
        """Returns the source language of a query, and the confidence in it if it is detected."""
        targets = self.models.targets()
        if not targets:
            raise Refusal(400, NO_LANGUAGES)
        if query.source != AUTO:
            source, confidence = known(query.source, targets), None
        else:
            sources = [language for language in targets if targets[language]]
            text, is_html = " ".join(query.texts), query.format == HTML
            try:
                (source, confidence), *_ = await self.detected(text, client, is_html)
            except Refusal:  # without a detector
                if len(sources) > 1:
                    raise
                source, confidence = sources[0], 0.0
        known(query.target, targets)
        if query.format not in FORMATS:
            raise Refusal(400, f"{query.format[:80]} format is not supported")
        return source, confidence

    async def translations(self, query, source, connection):
        """Returns [best translation, *alternatives] of each text."""
        target = code_of(query.target)
        found = self.models.pair(source, target)
        if found is None and source == target:
            return [[text] for text in query.texts]
        if found is None:
            raise Refusal(
                400,
                f"{name_of(target)} ({target}) is not available as a target language from "
                f"{name_of(source)} ({source})",
            )
        current, pair = found
        with current.in_use() as version:
            beam = version.translations.config.beam
            split = self.predictor.split
            options = {
                "markup": HTML if query.format == HTML else None,
                "n_best": min(1 + query.alternatives, beam),
                "split": None if split is None else ("auto" if split else "off"),
                "to": pair.to,
            }
            lead = f"{pair.code} " if pair.code else ""

            def requests():
                try:
                    options["glossary"] = version.translations.chosen_glossary(query.glossary)
                except ValueError as error:
                    raise Refusal(400, f"Invalid request: {error}") from error
                return [Request(lead + text, **options) for text in query.texts]

            is_short = are_short(sum(map(len, query.texts)), len(query.texts))
            is_short = is_short and query.glossary is None
            arguments = requests, len(query.texts), is_short, version, connection
            results = await self.predictor.translations(*arguments)
        return [unique([each.text for each in of_text]) for of_text in results]

    async def detect(self, request):
        values = await self.checked_fields(request)
        texts, _ = texts_in(values, self.limits)
        if not self.models.targets():
            raise Refusal(400, NO_LANGUAGES)
        with self.requests.computing():
            found = await self.detected(" ".join(texts), request[CONNECTION].client)
        return json_response(
            [{"confidence": confidence, "language": code} for code, confidence in found]
        )

    async def detected(self, text, client, is_html=False):
        """Returns (language, percentage) pairs, likeliest first, of a text in a known language."""
        targets = self.models.targets()
        codes = tuple(sorted(targets))
        if codes not in self.detectors:
            try:
                self.detectors = {codes: self.detector_for(codes)}
            except ValueError as error:
                raise Refusal(400, f"{error}. Without it, give the source language") from error
        found = await self.predictor.steps.in_thread(client, self.detectors[codes], text, is_html)
        # As in LibreTranslate, some language is always named.
        return found or [(next(code for code in targets if targets[code]), 0.0)]

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


def known(language, targets):
    """Returns the code of a requested language. Refuses one that no model knows."""
    code = code_of(language)
    if code not in targets:
        raise Refusal(400, f"{language[:80]} is not supported")
    return code


def unique(texts):
    """Returns the first text, and the other texts without repetitions and empty ones."""
    best, *others = texts
    return [best, *(text for text in dict.fromkeys(others) if text not in ("", best))]
