"""The HTML document of the page, without a browser."""

import json
import re

from pipelines.languages.language_codes import NAMES, normalized
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.page.example_sentences import SENTENCES, example_in
from t2t_keras.serving.page.page import page
from t2t_keras.translating.languages import Languages


def test_names_and_languages_cannot_break_the_page():
    name = "</script><b>{{data}}{{style}}"
    text = page([(name, Languages("pt-BR", "zh-Hant")), ("b", None)], Limits(max_text_bytes=7))
    assert text.count("</script>") == 2 and "<b>{{" not in text
    found = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))
    assert found["limits"] == {"text": 7, "body": 1_000_000}
    pair = {"source": "pt-BR", "target": "zh-Hant", "example": SENTENCES["pt"]}
    unknown = {"source": None, "target": None, "example": None}
    assert found["models"] == [{"name": name, **pair}, {"name": "b", **unknown}]
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"|url\(|@import|https?://', text)
    assert set(addresses) == {"data:,"}, "nothing is loaded from elsewhere"


def test_examples_are_in_the_script_of_their_code():
    assert all(code == normalized(code) and code.split("-")[0] in NAMES for code in SENTENCES)
    for code, expected in {
        "de-AT": "de",
        "zh-Hant-HK": "zh-Hant",
        "sr-Latn-RS": "sr-Latn",
        "uz": None,
        "ru-Latn": None,
    }.items():
        assert example_in(code) == SENTENCES.get(expected)
