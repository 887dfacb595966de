"""LibreTranslate's API, so that its clients work unchanged. See https://docs.libretranslate.com.

Fields, answers, statuses and messages are as in LibreTranslate 1.6. GET /translate and the
alternatives of HTML are additions.
"""

import re
from urllib.parse import quote

from t2t_keras.serving.apis import bodies
from t2t_keras.serving.apis.files import Files
from t2t_keras.serving.apis.routes import FIELD, FORMS, JSON, SOURCE, TARGET, Route
from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.documents import SUFFIXES, DocumentError
from t2t_keras.translating.languages import language_name

AUTO, HTML = "auto", "html"
FORMATS = ("text", HTML)
DIGITS = "^-?[0-9]{1,4000}$"  # number of alternatives in a form
REQUIRED = ("q", "source", "target")
TEXTS = {"type": ["string", "array"], "minLength": 1, "items": {"type": "string"}, "minItems": 1}
# {field: its JSON schema}. In forms and in the query, all values are strings.
FIELDS = {
    "q": TEXTS,
    "source": SOURCE,
    "target": TARGET,
    "format": {"enum": [*FORMATS, "", None], "default": FORMATS[0]},
    "alternatives": {"type": ["integer", "string", "null"], "pattern": DIGITS, "default": 0},
    "glossary": {
        "description": "lines of a source phrase, a tab and a target phrase, or in JSON "
        "{phrase: translation}; an addition to the API",
        "type": ["string", "object", "null"],
        "additionalProperties": {"type": "string"},
    },
    "api_key": {"description": "if the server requires one", "type": ["string", "null"]},
}
FIELDS_OF_DETECT = {name: FIELDS[name] for name in ("q", "api_key")}
KNOWN = {*FIELDS, "secret"}  # LibreTranslate's own page sends a secret
FILE = {"type": "string", "format": "binary"}
BYTES_PER_CHARACTER = 4  # maximum in UTF-8
PAGE_TIMEOUT = 500  # milliseconds that LibreTranslate's page waits for further input
# Examples of answers. In the answer to a list of texts, each value is a list.
TRANSLATED = {"translatedText": "Zwei Hunde.", "alternatives": ["Die zwei Hunde."]}
DETECTED = [{"confidence": 95.0, "language": "en"}]
LANGUAGES = [{"code": "en", "name": "English", "targets": ["de", "en"]}]


class LibreTranslate:
    """Handlers of the routes, given the `Answering` and the `ApiKeys` or None."""

    def __init__(self, answering, keys):
        self.answering, self.models, self.limits = answering, answering.models, answering.limits
        self.keys, self.files = keys, Files(answering)

    def routes(self):
        computes = {"media": (JSON, *FORMS), "key": FIELD, "computes": True}
        translates = self.translate, "Translates a text, or a list of texts", TRANSLATED
        translates += FIELDS, REQUIRED
        detects = self.detect, "Detects the language", DETECTED, FIELDS_OF_DETECT, ("q",)
        languages = "The languages, and the target languages of each"
        settings = "Settings for user interfaces", self.settings_for("de")
        return [
            Route("translate", "POST", "/translate", *translates, **computes),
            Route("translate_by_get", "GET", "/translate", *translates, **computes),
            Route("detect", "POST", "/detect", *detects, **computes),
            Route("languages", "GET", "/languages", self.languages, languages, LANGUAGES),
            Route("settings", "GET", "/frontend/settings", self.settings, *settings),
            Route(
                *("translate_file", "POST", "/translate_file", self.translate_file),
                *("Translates a document", {"translatedFileUrl": "http://…/download_file/…"}),
                {"file": FILE, **{name: FIELDS[name] for name in ("source", "target", "api_key")}},
                *(("file", "source", "target"), FORMS[1:]),
                key=FIELD,
                computes=True,
            ),
            Route(
                *("download_file", "GET", "/download_file/{file}", self.files.download),
                *("A translated document", "application/octet-stream"),
            ),
            Route("suggest", "POST", "/suggest", self.suggest, "Suggestions: disabled"),
        ]

    async def translate(self, request):
        values, _ = await self.fields(request)
        texts, is_list = texts_in(values, self.limits)
        languages, options = languages_in(values), options_in(values)
        results, source, confidence = await self.answering.translate(
            [options | {"text": text} for text in texts], *languages, request[bodies.CONNECTION]
        )
        results = [unique([each.text for each in found]) for found in results]
        answer = {"translatedText": [best for best, *_ in results]}
        if confidence is not None:
            detected = {"confidence": confidence, "language": source}
            answer["detectedLanguage"] = [detected] * len(results)
        if options["n_best"] > 1:
            answer["alternatives"] = [others for _, *others in results]
        if not is_list:
            answer = {name: values[0] for name, values in answer.items()}
        if ignored := sorted(values.keys() - KNOWN):
            answer["ignoredFields"] = [name[:80] for name in ignored[: bodies.MOST_FIELDS]]
        return answer

    async def translate_file(self, request):
        values, body = await self.fields(request, "max_file_bytes")
        name, data = bodies.file_in(request, body)
        languages = languages_in({"q": name, **values})
        try:
            kept = await self.files.translated(name, data, *languages, request[bodies.CONNECTION])
        except DocumentError as error:
            raise Refusal(400, str(error)) from None
        url = f"{request.scheme}://{request.host}/download_file/{quote(kept)}"
        return {"translatedFileUrl": url}

    async def fields(self, request, limit="max_body_bytes"):
        """Returns the fields and the body of a request, after checking its API key."""
        body = await bodies.body_of(request, self.limits, limit)
        self.models.check_started()
        values = bodies.fields_of(request, body)
        key = string_in(values, "api_key")
        if self.keys:
            self.keys.check(request, key)
        return values, body

    async def detect(self, request):
        values, _ = await self.fields(request)
        texts, _ = texts_in(values, self.limits)
        found = await self.answering.detect(texts, request[bodies.CONNECTION])
        return [{"confidence": confidence, "language": code} for code, confidence in found]

    async def languages(self, request):
        self.models.check_started()
        targets = self.models.targets()
        return [
            {"code": code, "name": language_name(code), "targets": sorted({code, *targets[code]})}
            for code in sorted(targets, key=language_name)
        ]

    async def settings(self, request):
        pairs = [each for _, each in self.models.languages if each] or [("", "")]
        return self.settings_for(pairs[0][1])

    async def suggest(self, request):
        raise Refusal(403, "Suggestions are disabled on this server.")

    def settings_for(self, target):
        """Returns the settings, given the code of the first model's target language."""
        return {
            "apiKeys": self.keys is not None,
            "charLimit": self.limits.max_body_bytes // BYTES_PER_CHARACTER,
            "filesTranslation": True,
            "frontendTimeout": PAGE_TIMEOUT,
            "keyRequired": self.keys is not None,
            "language": {
                "source": {"code": AUTO, "name": "Auto Detect"},
                "target": {"code": target, "name": target and language_name(target)},
            },
            "suggestions": False,
            "supportedFilesFormat": sorted(SUFFIXES),
        }


def unique(texts):
    """Returns the first text, and the other texts without repetitions and empty ones."""
    best, *others = texts
    return [best, *(text for text in dict.fromkeys(others) if text not in ("", best))]


def languages_in(values):
    """Returns the source, which is None if it is to be detected, and the target."""
    for name in REQUIRED:
        if not values.get(name):
            raise Refusal(400, f"Invalid request: missing {name} parameter")
    source, target = (string_in(values, name) for name in ("source", "target"))
    return None if source == AUTO else source, target


def options_in(values):
    """Returns {field of `Request`: value}."""
    if (kind := string_in(values, "format") or FORMATS[0]) not in FORMATS:
        raise Refusal(400, f"{kind[:80]} format is not supported")
    glossary = values.get("glossary")
    if not isinstance(glossary, dict):
        glossary = string_in(values, "glossary")
    return {
        "markup": HTML if kind == HTML else None,
        "n_best": 1 + count_in(values.get("alternatives", 0)),
        "glossary": glossary or None,
    }


def texts_in(values, limits):
    """Returns the list of texts in the field "q", and whether the field is a list."""
    given = values.get("q")
    if not given:
        raise Refusal(400, "Invalid request: missing q parameter")
    texts = given if isinstance(given, list) else [given]
    bodies.check_rows(texts, limits)
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Invalid request: q parameter is neither a string nor a list of them")
    return texts, texts is given


def string_in(values, name):
    """Returns the string in a field; "" if it is missing or null."""
    value = values.get(name)
    if not isinstance(value, str | None):
        raise Refusal(400, f"Invalid request: {name} parameter is not a string")
    return value or ""


def count_in(value):
    """Returns the requested number of alternatives, which may be a string of digits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
    if value is None or is_number or (isinstance(value, str) and re.fullmatch(DIGITS, value)):
        return max(0, int(value or 0))
    raise Refusal(400, "Invalid request: alternatives parameter is not a number")
