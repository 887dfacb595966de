"""JSON schemas of LibreTranslate's API."""

from t2t_keras.serving.apis.libretranslate_query import DIGITS, FORMATS
from t2t_keras.serving.apis.routes import (
    ERROR,
    FORM,
    JSON,
    MULTIPART,
    SOURCE,
    TARGET,
    TEXT,
    list_of,
    object_of,
)

NAME = TEXT | {"minLength": 1}
TEXT_OR_TEXTS = {"anyOf": [NAME, list_of(TEXT, minItems=1)]}
API_KEY = TEXT | {"description": "API key, if the server requires one"}
NO_KEY = API_KEY | {"type": ["string", "null"]}
GLOSSARY = TEXT | {
    "description": "lines of a source phrase, a tab and a target phrase; an addition to the API"
}
COUNT = {"type": "integer", "default": 0, "description": "number of further translations"}
TERMS = {"type": "object", "additionalProperties": TEXT, "description": "{phrase: translation}"}
REQUIRED = ("q", "source", "target")
FIELDS = {
    "q": NAME | {"description": "text to translate"},
    "source": SOURCE,
    "target": TARGET,
    "format": {"enum": [*FORMATS, ""], "default": FORMATS[0]},
    "alternatives": COUNT,
    "glossary": GLOSSARY,
    "api_key": API_KEY,
}
TRANSLATION = object_of(FIELDS, REQUIRED)
# In JSON, the texts may be a list, numbers may be strings, and optional fields may be null.
JSON_FIELDS = {
    "q": TEXT_OR_TEXTS,
    "format": {"enum": [*FORMATS, "", None], "default": FORMATS[0]},
    "alternatives": {"anyOf": [COUNT, {"type": "string", "pattern": DIGITS}, {"type": "null"}]},
    "glossary": {"anyOf": [GLOSSARY, TERMS, {"type": "null"}]},
    "api_key": NO_KEY,
}
TRANSLATION_BODIES = {
    JSON: object_of(FIELDS | JSON_FIELDS, REQUIRED),
    FORM: TRANSLATION,
    MULTIPART: TRANSLATION,
}
DETECTION = object_of({"q": NAME, "api_key": API_KEY}, ["q"])
DETECTION_BODIES = {
    JSON: object_of({"q": TEXT_OR_TEXTS, "api_key": NO_KEY}, ["q"]),
    FORM: DETECTION,
    MULTIPART: DETECTION,
}
DETECTED = object_of(
    {"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": TEXT}
)
DETECTIONS = list_of(DETECTED)
TRANSLATED = object_of(
    {
        "translatedText": {"anyOf": [TEXT, list_of(TEXT)]},
        "alternatives": list_of({"anyOf": [TEXT, list_of(TEXT)]}),
        "detectedLanguage": {"anyOf": [DETECTED, list_of(DETECTED)]},
        "ignoredFields": list_of(TEXT),
    },
    ["translatedText"],
)
LANGUAGES = list_of(object_of({"code": TEXT, "name": TEXT, "targets": list_of(TEXT)}))
NAMED = object_of({"code": TEXT, "name": TEXT})
FLAG, NUMBER = {"type": "boolean"}, {"type": "integer"}
SETTINGS = object_of(
    {
        "apiKeys": FLAG,
        "charLimit": NUMBER,
        "filesTranslation": FLAG,
        "frontendTimeout": NUMBER,
        "keyRequired": FLAG,
        "language": object_of({"source": NAMED, "target": NAMED}),
        "suggestions": FLAG,
        "supportedFilesFormat": list_of(TEXT),
    }
)
DISABLED = {403: ERROR}
