"""Calls a server with published clients of LibreTranslate, in an environment that has them.

python real_clients.py ADDRESS API_KEY; prints what was called. The server translates en-de and
de-en, and each of its answers is compared with that of a plain request.
"""

import importlib.metadata
import json
import sys
import urllib.request

from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI

SENTENCES = [
    "The dog sleeps.",
    "Two dogs. My sister buys the old lamp!",
    "a\nb\r\n\r\nThe cat sees the house.",
    "Straße & é 漢字 😀 100 % + = ? #",
    "<b>The dog</b> sleeps.",
    " ".join(["The old man sees two red houses."] * 50),
]


def plain(address, key, text, source, target):
    body = {"q": text, "source": source, "target": target, "api_key": key}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/translate", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())["translatedText"]


def check(address, key):
    """Yields a line for each kind of call."""
    api = LibreTranslateAPI(f"{address}/", key)
    for source, target in (("en", "de"), ("de", "en")):
        deep = LibreTranslator(source=source, target=target, api_key=key, custom_url=f"{address}/")
        expected = [
            plain(address, key, text.replace("\r\n", "\n"), source, target) for text in SENTENCES
        ]
        assert [api.translate(text, source, target) for text in SENTENCES] == expected
        assert [deep.translate(text) for text in SENTENCES] == expected
        assert deep.translate_batch(SENTENCES) == expected
        yield f"{source}-{target}: {3 * len(SENTENCES)} translations"
    assert [each["code"] for each in api.languages()] == ["en", "de"]
    found = api.detect("Der Hund sieht die Katze und das Haus.")
    assert found[0]["language"] == "de", found
    yield "languages, detect"


if __name__ == "__main__":
    for package in ("libretranslatepy", "deep-translator"):
        print(package, importlib.metadata.version(package))
    for line in check(*sys.argv[1:]):
        print(line)
