"""The box of the page with the text to translate: keys, length, example, clearing, cancelling."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.serving.browsers import (
    chord,
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

EXAMPLE = "The old woman carries a small dog."


@pytest.fixture
def server(browser):
    """The server of an English-German model, whose page is open."""
    with scripted(OPTIONS, ende="en-de") as server:
        open_page(browser, server.address)
        yield server


def value(browser, name="text"):
    return browser.find_element("id", name).get_property("value")


def click(browser, name):
    browser.find_element("id", name).click()


def test_enter_begins_a_line_and_ctrl_or_cmd_enter_translates(browser, server):
    press(browser, "the dog", Keys.ENTER, "the cat")
    assert not server.predictions
    chord(browser, Keys.CONTROL, Keys.ENTER)
    wait(browser, lambda: texts(browser, "#translation") == ["der Hund\nder Katze"])
    fill_in(browser, "glossary", "a = b")
    fill_in(browser, "text", "the cat")
    chord(browser, Keys.META, Keys.ENTER)
    wait(browser, lambda: texts(browser, "#translation") == ["der Katze"])
    assert value(browser) == "the cat"


def test_the_length_is_counted_against_the_limits(browser, server):
    browser.execute_script("LIMITS.body = 12000")
    for text, expected in [
        ("", "0 characters, 0 of 4,000 bytes"),
        (" é ", "1 character, 2 of 4,000 bytes"),
        ("Ein Hund. Wer? 他睡觉。她也是。", "23 characters, longest sentence 12 of 4,000 bytes"),
        ("القط ينام. الكلب ينام.", "22 characters, longest sentence 20 of 4,000 bytes"),
        ("x" * 4001, "4,001 characters, 4,001 of 4,000 bytes: too long"),
        ("Ab. " * 3000, "11,999 characters, 12,001 of 12,000 bytes: too long"),
        ("." * 20_000 + " " * 20_000 + "a", "40,001 characters, 40,003 of 12,000 bytes: too long"),
    ]:
        fill_in(browser, "text", text)
        assert texts(browser, "#count") == [expected]
        too_long = "too long" in expected
        assert (
            browser.find_element("id", "text").get_attribute("aria-invalid")
            == str(too_long).lower()
        )
    fill_in(browser, "text", "One. Two.")
    assert "longest sentence" in texts(browser, "#count")[0]
    fill_in(browser, "require", "a phrase")  # makes the text one sentence
    assert texts(browser, "#count") == ["9 characters, 9 of 4,000 bytes"]
    assert not server.predictions


def test_example_clear_undo_and_copy(browser, server):
    click(browser, "example")
    assert value(browser) == EXAMPLE
    wait(browser, lambda: texts(browser, ".piece"))
    assert not browser.find_element("id", "example").is_displayed()
    fill_in(browser, "text", "")
    press(browser, "the dog\n\n the cat")
    chord(browser, Keys.CONTROL, Keys.ENTER)
    wait(browser, lambda: texts(browser, "#translation") == ["der Hund\n\n der Katze"])
    click(browser, "copy")
    assert texts(browser, "#copied") == ["Copied"]
    assert browser.switch_to.active_element.get_attribute("id") == "copy"
    click(browser, "clear")
    assert value(browser) == ""
    assert browser.find_element("id", "example").is_displayed()
    assert browser.switch_to.active_element.get_attribute("id") == "text"
    chord(browser, Keys.CONTROL, "z")
    assert value(browser) == "the dog\n\n the cat"
    chord(browser, Keys.CONTROL, "a")
    chord(browser, Keys.CONTROL, "v")
    assert value(browser) == "der Hund\n\n der Katze"
    assert complaints(browser) == []


def test_a_pending_translation_can_be_cancelled_and_superseded(browser, server):
    server.answers_wait.clear()
    for leave in (lambda: click(browser, "cancel"), lambda: press(browser, Keys.ESCAPE)):
        fill_in(browser, "text", "the dog")
        chord(browser, Keys.CONTROL, Keys.ENTER)
        wait(browser, lambda: browser.find_element("id", "cancel").is_displayed())
        assert texts(browser, "#state") == ["Translating …"]
        leave()
        assert texts(browser, "#state") == ["Cancelled"]
        assert not browser.find_element("id", "cancel").is_displayed()
    chord(browser, Keys.CONTROL, Keys.ENTER)
    fill_in(browser, "text", "the cat")
    chord(browser, Keys.CONTROL, Keys.ENTER)
    wait(browser, lambda: len(server.predictions) == 4)
    server.answers_wait.set()
    wait(browser, lambda: texts(browser, "#translation") == ["der Katze"])
    wait(browser, lambda: texts(browser, "#source .piece") == ["the", "cat"])
    assert not errors(browser)
    searches = [row["text"] for _, row in server.predictions if "confidence" in row]
    assert searches == ["the cat"], "words are requested for the newest text alone"


def test_a_mistake_leaves_the_shown_translation(browser, server):
    translate(browser, "the dog")
    fill_in(browser, "text", " \n ")
    chord(browser, Keys.CONTROL, Keys.ENTER)
    assert errors(browser) == ["There is nothing to translate. Type some text above."]
    assert texts(browser, "#translation") == ["der Hund"]


def test_source_and_translation_stand_side_by_side_or_below_each_other(browser, server):
    word = "Donau" * 200
    translate(browser, f"{word} {word} dog")
    wait(browser, lambda: texts(browser, ".piece"))
    script = "return ['#text', '#translation'].map((each) => {"
    script += "const box = document.querySelector(each).getBoundingClientRect();"
    script += "return [box.left, box.right, box.top, box.bottom]})"
    for width, scheme in [(1280, "light"), (800, "dark"), (390, "dark"), (320, "light")]:
        set_display(browser, width, 900, scheme)
        left, right = browser.execute_script(script)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert left[1] < right[0] if width >= 800 else left[3] < right[2]
    set_display(browser, 1000, 900, "light")
