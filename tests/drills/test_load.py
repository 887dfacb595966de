"""A server under 200,000 requests from well-behaved and hostile clients at once.

`T2T_DRILL_REQUESTS` is the number of requests, and `T2T_DRILL_SECONDS` ends the drill earlier; see
BUILD.md.
"""

import random
import urllib.parse

import pytest
from support.serving.load_drill import hold
from support.serving.pair_export import export_pair
from support.serving.raw_requests import post
from support.serving.serving_client import backwards

from t2t_keras.translating.find import load_translator

pytestmark = pytest.mark.drill


class Near:
    """Equals an answer with the text of a `Translation`, and almost its score."""

    def __init__(self, translation):
        self.translation = translation

    def __eq__(self, answer):
        score = pytest.approx(self.translation.score, abs=1e-4)
        return answer == {"translations": self.translation.text, "scores": score}


def good_request(choices):
    """Returns a request and its expected answer."""
    words = ["ein", "zwei", "drei", "é", "漢字", "😀", "dog"]
    texts = [
        " ".join(choices.choices(words, k=choices.randint(1, 30)))
        for _ in range(choices.randint(1, 4))
    ]
    kind = choices.random()
    if kind < 0.05:
        return b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"ok\n"
    if kind < 0.2:
        rows = [{"source": text, "target": "ab"} for text in texts]
        scores = [-float(len(text.encode()) + 2) for text in texts]
        return post({"signature_name": "score", "instances": rows}), {"predictions": scores}
    columns = {
        "translations": [backwards(text) for text in texts],
        "scores": [-0.1] * len(texts),
    }
    return post({"inputs": texts}), {"outputs": columns}


def test_hostile_clients_harm_nobody(backwards_export):
    hold(backwards_export, good_request)


def test_hostile_clients_harm_nobody_on_litert(run, tmp_path):
    """The answers are those of the same model in this process, where each text is alone.

    Two models are served, and half of the requests are those of LibreTranslate's clients.
    """
    run.export(tmp_path / "backwards", "litert", extra_length=5)
    pair = export_pair(run, tmp_path, "en", "de")
    translator = load_translator(tmp_path / "backwards")
    words, choices = ["dog", "The cat sleeps.", "zwei", "漢字", "😀"], random.Random(0)
    texts = [" ".join(choices.choices(words, k=choices.randint(1, 6))) for _ in range(60)]
    table = [(post({"instances": texts[i : i + 3]}), texts[i : i + 3]) for i in range(57)]
    found = translator.best_of_each(texts)
    expected = {text: Near(each) for text, each in zip(texts, found, strict=True)}
    others = [*libretranslate_requests(translator, texts)]

    def good_request(choices):
        if choices.random() < 0.5:
            return choices.choice(others)
        request, asked = choices.choice(table)
        return request, {"predictions": [expected[text] for text in asked]}

    hold(f"backwards={tmp_path / 'backwards'}", good_request, pair)


def libretranslate_requests(translator, texts):
    """Yields requests of texts, lists, HTML and alternatives, with their expected answers."""
    pair = {"source": "en", "target": "de"}
    best = dict(zip(texts, translator.translate(texts), strict=True))

    def request(body):
        kind = b"Content-Length", b"Content-Type: application/json\r\nContent-Length"
        return post(body | pair, "/translate").replace(*kind)

    for i in range(57):
        asked = texts[i : i + 3]
        yield request({"q": asked}), {"translatedText": [best[text] for text in asked]}
        query = urllib.parse.urlencode({"q": texts[i], **pair}).encode()
        by_get = b"GET /translate?" + query + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        yield by_get, {"translatedText": best[texts[i]]}
    html = [f"<p>The <b>dog</b> {n} sleeps.</p>" for n in range(20)]
    for text, translation in zip(html, translator.translate(html, markup="html"), strict=True):
        yield request({"q": text, "format": "html"}), {"translatedText": translation}
    for text, found in zip(texts[:20], translator.translations(texts[:20], n_best=3), strict=True):
        first, *others = dict.fromkeys(each.text for each in found)
        answer = {"translatedText": first, "alternatives": [each for each in others if each]}
        yield request({"q": text, "alternatives": 2}), answer
