"""The page of a server with several models, languages, or an API key."""

import json
import re

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from support.serving.browsers import (
    complaints,
    errors,
    fill_in,
    open_page,
    press,
    set_display,
    texts,
    translate,
    wait,
)
from support.serving.scripted_server import OPTIONS, scripted

from pipelines.languages.language_codes import NAMES, normalized
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.page.example_sentences import SENTENCES, example_in
from t2t_keras.serving.page.page import page
from t2t_keras.serving.served_models import newest_languages
from t2t_keras.translating.languages import Languages

LABELS = "#source-label, #target-label"
# Returns the lowest contrast of the visible texts with their backgrounds, and its text.
CONTRAST = """
const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
function behind(element) {
  const [r, g, b, a = 1] = numbers(getComputedStyle(element).backgroundColor);
  if (a === 1) return [r, g, b];
  const below = element.parentElement ? behind(element.parentElement) : [255, 255, 255];
  return [r, g, b].map((each, n) => each * a + below[n] * (1 - a));
}
function light(color) {
  const [r, g, b] = color.slice(0, 3).map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
let lowest = [99, ""];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
  if (!text || !element.checkVisibility() || element.closest("svg, option")) continue;
  const pair = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
  const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  if (ratio < lowest[0]) lowest = [ratio, text];
}
return lowest;
"""


def choose(browser, text):
    Select(browser.find_element("id", "model")).select_by_visible_text(text)
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])


def languages(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.lang)"
    return browser.execute_script(script, selector)


def test_the_chosen_model_is_asked_and_languages_can_be_swapped(browser):
    models = {"a": "en-de", "b c/%": "de-en", "c": "en-de", "d": "xq-ar", "e": None}
    with scripted(OPTIONS, **models) as server:
        open_page(browser, server.address)
        expected = ["English → German (a)", "German → English", "English → German (c)"]
        assert texts(browser, "#model option") == [*expected, "xq → Arabic", "e"]
        assert texts(browser, LABELS) == ["Source: English", "Translation: German"]
        translate(browser, "the dog")
        assert server.addresses[-1].startswith("/v1/models/a:predict")
        assert languages(browser, "#text, #translation") == ["en", "de"]
        browser.find_element("id", "swap").click()
        assert texts(browser, LABELS) == ["Source: German", "Translation: English"]
        assert browser.find_element("id", "text").get_property("value") == "der Hund"
        assert not browser.find_element("id", "answer").is_displayed()
        assert browser.title == "b c/%"
        wait(browser, lambda: texts(browser, "#version") == ["version 1"])
        translate(browser, "the cat")
        assert {each for each in server.addresses if "%" in each} == {
            "/v1/models/b%20c%2F%25/metadata",
            "/v1/models/b%20c%2F%25:predict",
        }
        choose(browser, "e")
        assert texts(browser, LABELS) == ["Source", "Translation"]
        assert not browser.find_element("id", "swap").is_displayed()
        assert browser.find_element("id", "text").get_property("value") == "the cat"
        choose(browser, "xq → Arabic")
        browser.find_element("id", "clear").click()
        assert not browser.find_element("id", "example").is_displayed()
        choose(browser, "German → English")
        assert browser.find_element("id", "example").is_displayed()
        assert complaints(browser) == []


def test_an_answer_of_the_model_before_is_dropped(browser):
    with scripted(OPTIONS, a="en-de", b="de-en") as server:
        open_page(browser, server.address)
        translate(browser, "the cat")
        count = len(server.predictions)
        server.answers_wait.clear()
        fill_in(browser, "text", "the dog")
        browser.find_element("id", "send").click()
        wait(browser, lambda: len(server.predictions) > count)
        browser.find_element("id", "swap").click()
        # The translation shown was that of another text.
        assert browser.find_element("id", "text").get_property("value") == "the dog"
        server.answers_wait.set()
        translate(browser, "the cat")
        assert texts(browser, "#translation") == ["der Katze"]
        assert texts(browser, "#name") == ["b"]


def test_a_requested_language_is_that_of_the_translation(browser):
    with scripted(OPTIONS | {"to": ""}, a="en-de") as server:
        open_page(browser, server.address)
        for to, label in [
            ("<2fr>", ": French"),
            ("fr", ": French"),
            (">>7<<", ""),
            ("", ": German"),
        ]:
            fill_in(browser, "to", to)
            translate(browser, "the dog")
            assert texts(browser, "#target-label") == [f"Translation{label}"]


def test_translations_are_rated_in_percent(browser):
    with scripted(OPTIONS) as server:
        open_page(browser, server.address)
        server.words_wait.clear()
        translate(browser, "the dog sees the cat")
        assert texts(browser, "#translations b") == [""] * 4
        server.words_wait.set()
        # The last translation has a sixth word.
        wait(browser, lambda: texts(browser, "#translations b") == ["76 %"] * 3 + ["79 %"])
        product = 0.95**3 * 0.4123 * 0.75
        assert 0.76 < product ** (1 / 5) < 0.77 and 0.79 < (product * 0.95) ** (1 / 6) < 0.80
        assert "geometric mean" in texts(browser, "#measure")[0]
        server.refused_words = "no words"
        translate(browser, "the dog")
        wait(browser, lambda: texts(browser, "#translations b") == ["–"] * 4)


def test_a_required_key_is_asked_for_and_kept_for_the_tab(browser):
    with scripted(OPTIONS, a="en-de") as server:
        server.key = "s3cret"
        browser.get(server.address)
        refused = "This server needs an API key. Enter the API key of this server at the top."
        wait(browser, lambda: errors(browser) == [refused])
        wait(browser, lambda: browser.find_element("id", "key-field").is_displayed())
        assert browser.switch_to.active_element.get_attribute("id") == "key"
        press(browser, "schlüssel", Keys.ENTER)
        wait(browser, lambda: "letters, digits and signs of ASCII" in "".join(errors(browser)))
        browser.find_element("id", "key").clear()
        browser.find_element("id", "key").send_keys(" s3cret ", Keys.ENTER)
        assert browser.switch_to.active_element.get_attribute("id") == "text"
        wait(browser, lambda: texts(browser, "#version") == ["version 1"])
        assert not errors(browser)
        translate(browser, "the dog")
        assert texts(browser, "#translation") == ["der Hund"]
        browser.refresh()
        wait(browser, lambda: texts(browser, "#version") == ["version 1"])
        stored = "return [localStorage.length, document.cookie, Object.keys(sessionStorage).length]"
        assert browser.execute_script(stored) == [0, "", 1]
        assert not errors(browser)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_contrast_with_their_backgrounds(browser, scheme):
    with scripted(OPTIONS, a="en-de", b="de-en") as server:
        set_display(browser, 1000, 900, scheme)
        try:
            open_page(browser, server.address)
            browser.execute_script("document.getElementById('options').open = true")
            browser.execute_script("document.getElementById('key-field').hidden = false")
            translate(browser, "the dog sees the cat")
            wait(browser, lambda: texts(browser, ".piece"))
            server.refused["no"] = "not this"
            ratios = [browser.execute_script(CONTRAST)]
            fill_in(browser, "text", "x" * 5000)
            browser.find_element("css selector", "#translation .low").click()
            ratios.append(browser.execute_script(CONTRAST))
            translate(browser, "no")
            ratios.append(browser.execute_script(CONTRAST))
        finally:
            set_display(browser, 1000, 900, "light")
        print(scheme, ratios)
        assert min(ratio for ratio, _ in ratios) >= 4.5, ratios


def test_names_and_languages_cannot_break_the_page():
    name = "</script><b>{{data}}{{style}}"
    text = page([(name, Languages("pt-BR", "zh-Hant")), ("b", None)], Limits(max_text_bytes=7))
    assert text.count("</script>") == 2 and "<b>{{" not in text
    found = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))
    assert found["limits"] == {"text": 7, "body": 1_000_000}
    first, second = found["models"]
    assert first == {
        "name": name,
        "source": "pt-BR",
        "target": "zh-Hant",
        "example": SENTENCES["pt"],
    }
    assert second == {"name": "b", "source": None, "target": None, "example": None}
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"|url\(|@import|https?://', text)
    assert set(addresses) == {"data:,"}, "nothing is loaded from elsewhere"


def test_examples_are_in_the_script_of_their_code():
    assert all(code == normalized(code) and code.split("-")[0] in NAMES for code in SENTENCES)
    for code, expected in {
        "de-AT": "de",
        "zh-Hant-HK": "zh-Hant",
        "zh-CN": "zh",
        "sr-Latn": "sr-Latn",
        "sr-Latn-RS": "sr-Latn",
        "uz": None,
        "ru-Latn": None,
    }.items():
        assert example_in(code) == SENTENCES.get(expected)


def test_a_damaged_record_leaves_the_languages_unknown(tmp_path):
    for version, record in enumerate(['{"languages": ["en", "de"]}', "{"], start=1):
        (tmp_path / str(version)).mkdir()
        (tmp_path / str(version) / "litert.json").write_text(record)
    versions = {number: tmp_path / str(number) for number in (1, 2)}
    assert newest_languages(versions) is None
    del versions[2]
    assert newest_languages(versions) == ("en", "de")
    assert newest_languages({}) is None
