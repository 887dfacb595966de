"""The page of a server with several models and languages, or with an API key."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.serving.browsers import (
    choose,
    complaints,
    errors,
    fill_in,
    focused,
    open_page,
    press,
    shown,
    texts,
    translate,
    value,
    wait,
)
from support.serving.scripted_server import OPTIONS, scripted

pytestmark = pytest.mark.long
LABELS = "#source-label, #target-label"


def ready(browser):
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])


def test_the_chosen_model_is_asked_and_languages_can_be_swapped(browser):
    models = {"a": "en-de", "b c/%": "de-en", "c": "en-de", "d": "xq-ar", "e": None}
    with scripted(OPTIONS | {"to": ""}, **models) as server:
        open_page(browser, server.address)
        expected = ["English → German (a)", "German → English", "English → German (c)"]
        assert texts(browser, "#model option") == [*expected, "xq → Arabic", "e"]
        assert texts(browser, LABELS) == ["Source: English", "Translation: German"]
        for to, label in [("<2fr>", ": French"), (">>7<<", ""), ("", ": German")]:
            fill_in(browser, "to", to)
            translate(browser, "the dog")
            assert texts(browser, "#target-label") == [f"Translation{label}"]
        assert server.addresses[-1].startswith("/v1/models/a:predict")

        browser.find_element("id", "swap").click()
        assert texts(browser, LABELS) == ["Source: German", "Translation: English"]
        assert value(browser, "text") == "der Hund"
        assert not shown(browser, "answer")
        ready(browser)
        translate(browser, "the cat")
        assert {each for each in server.addresses if "%" in each} == {
            "/v1/models/b%20c%2F%25/metadata",
            "/v1/models/b%20c%2F%25:predict",
        }

        # The answer of the model before is dropped.
        count = len(server.predictions)
        server.answers_wait.clear()
        fill_in(browser, "text", "the dog")
        browser.find_element("id", "send").click()
        wait(browser, lambda: len(server.predictions) > count)
        choose(browser, "model", "e")
        ready(browser)
        server.answers_wait.set()
        translate(browser, "the cat")
        assert texts(browser, "#translation") == ["der Katze"]
        assert texts(browser, LABELS) == ["Source", "Translation"]
        assert not shown(browser, "swap")

        choose(browser, "model", "xq → Arabic")
        browser.find_element("id", "clear").click()
        assert not shown(browser, "example")
        choose(browser, "model", "German → English")
        assert shown(browser, "example")
        assert complaints(browser) == []


def test_a_required_key_is_asked_for_and_kept_for_the_tab(browser):
    with scripted(OPTIONS, a="en-de") as server:
        server.key = "s3cret"
        browser.get(server.address)
        refused = "This server needs an API key. Enter the API key of this server at the top."
        wait(browser, lambda: errors(browser) == [refused])
        wait(browser, lambda: focused(browser) == "key")
        press(browser, "schlüssel", Keys.ENTER)
        wait(browser, lambda: "letters, digits and signs of ASCII" in "".join(errors(browser)))
        browser.find_element("id", "key").clear()
        browser.find_element("id", "key").send_keys(" s3cret ", Keys.ENTER)
        assert focused(browser) == "text"
        ready(browser)
        assert not errors(browser)
        translate(browser, "the dog")
        assert texts(browser, "#translation") == ["der Hund"]
        browser.refresh()
        ready(browser)
        stored = "return [localStorage.length, document.cookie, Object.keys(sessionStorage).length]"
        assert browser.execute_script(stored) == [0, "", 1]
        assert not errors(browser)
