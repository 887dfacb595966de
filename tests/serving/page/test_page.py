"""The page at the server's root: with real servers, several models, or an API key."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.processes.commands import running
from support.serving.browsers import (
    choose,
    chord,
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
from support.serving.in_process_server import serving
from support.serving.scripted_server import OPTIONS, scripted
from support.serving.served_engine import EchoEngine
from support.serving.served_model import HEADS, LAYERS

pytestmark = pytest.mark.long
LABELS = "#source-label, #target-label"
MARKUP = "<img src=x onerror=alert(1)>"


def test_the_page_of_a_savedmodel_is_used_by_keyboard_and_shows_attention_and_errors(
    browser, backwards_export, tmp_path
):
    folder = tmp_path / "a <b> & c"
    folder.symlink_to(backwards_export.parent)
    with running("serve", folder, "--port=0", f"--name={folder.name}") as process:
        open_page(browser, process.line().split()[-1])
        assert [browser.title] == ["a <b> & c"] == texts(browser, "#name")

        # The text box has the focus.
        press(browser, f"Wonderful birds sing {MARKUP}")
        chord(browser, Keys.CONTROL, Keys.ENTER)
        source = ["Wonderful", "birds", "sing", *MARKUP.split()]
        written = ["v1:", *reversed(source)]
        wait(browser, lambda: texts(browser, ".word"))
        assert texts(browser, "#translation") == [" ".join(written)]
        assert texts(browser, "#translations b") == ["−0.100", "−0.200", "−0.300", "−0.400"]
        words = texts(browser, ".word text:first-of-type")
        assert words == [*written, "</s>", *source, "</s>"]
        assert not errors(browser)

        # Choose the second translation: tab past three buttons to the list, then arrow down.
        press(browser, Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
        wait(browser, lambda: texts(browser, "#translation") == [" ".join(written) + "!"])
        wait(browser, lambda: "Wonderful!" in texts(browser, ".word text:first-of-type"))

        # The last layer is shown. Choose its first head, then a word on the left.
        assert len(texts(browser, "#layers label")) == LAYERS
        assert len(texts(browser, "#heads label")) == HEADS + 1
        press(browser, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
        assert browser.current_url.endswith("#decoder-cross-2-1")
        lines = "return document.querySelectorAll('.lines line:not([style*=none])').length"
        all_lines = browser.execute_script(lines)
        press(browser, Keys.TAB)
        assert 0 < browser.execute_script(lines) < all_lines
        label = browser.switch_to.active_element.get_attribute("aria-label")
        assert label.startswith("v1: attends to Wonderful")
        press(browser, Keys.ENTER)
        assert browser.current_url.endswith("#decoder-cross-2-1-from1")
        assert complaints(browser) == []

        for text, message in {
            "  ": "There is nothing to translate",
            "x" * 5000: "has 5,000 bytes; at most 4,000 are allowed",
            "word " * 150: "at most 500 are allowed",  # is translated, but without attention
            "fail": "The server failed to answer this request. The server's log tells the reason.",
        }.items():
            fill_in(browser, "text", text)
            browser.find_element("id", "send").click()
            wait(browser, lambda message=message: message in "".join(errors(browser)))
        process.stop()
        fill_in(browser, "text", "a b")
        browser.find_element("id", "send").click()
        wait(browser, lambda: "The server cannot be reached" in "".join(errors(browser)))


def test_the_page_of_an_engine_shows_words_and_options(browser):
    with serving(en_de=EchoEngine()) as address:
        open_page(browser, address)
        assert texts(browser, "#target-label") == ["Translation: German"]
        text = "The dog sleeps.\nThe cat sleeps!"
        translate(browser, text)
        wait(browser, lambda: texts(browser, ".piece"))
        assert texts(browser, "#source") == texts(browser, "#translation") == [text]
        assert texts(browser, "#source .piece") == text.split()
        browser.find_element("css selector", "#translation .piece").click()
        assert texts(browser, "#readout") == ["“The”: confidence 50 %, aligned with “The”"]
        choose(browser, "markup", "HTML")
        fill_in(browser, "glossary", "dog = der Hund")
        translate(browser, "<p>The dog <b>sleeps</b>.</p>")
        assert value(browser, "marked") == "<p>der Hund <b>The dog sleeps</b>.</p>"
        assert not errors(browser)
        fill_in(browser, "glossary", "dog = x\ndog = y")
        translate(browser, "The dog sleeps.")
        assert "“Glossary”, line 2: 'dog' has two translations" in "".join(errors(browser))


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
