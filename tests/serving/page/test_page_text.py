"""The box of the page with the text to translate, and how the page looks."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.serving.browsers import (
    chord,
    complaints,
    errors,
    fill_in,
    focused,
    press,
    set_display,
    shown,
    texts,
    translate,
    value,
    wait,
)

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
# Returns the left, right, top and bottom edges of the text and of its translation.
EDGES = """
return ["#text", "#translation"].map((each) => {
  const box = document.querySelector(each).getBoundingClientRect();
  return [box.left, box.right, box.top, box.bottom];
})
"""
UNLABELED = """
return [...document.querySelectorAll("#request :is(input, select, textarea)")]
  .filter((field) => field.labels.length !== 1).length
"""


@pytest.mark.long
def test_a_pending_translation_can_be_cancelled_and_superseded(browser, server):
    server.answers_wait.clear()
    for leave in (
        lambda: browser.find_element("id", "cancel").click(),
        lambda: press(browser, Keys.ESCAPE),
    ):
        fill_in(browser, "text", "the dog")
        chord(browser, Keys.CONTROL, Keys.ENTER)
        wait(browser, lambda: shown(browser, "cancel"))
        assert texts(browser, "#state") == ["Translating …"]
        leave()
        assert texts(browser, "#state") == ["Cancelled"]
        assert not shown(browser, "cancel")
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


@pytest.mark.nightly
def test_the_length_is_counted_against_the_limits(browser, server):
    browser.execute_script("LIMITS.body = 12000")
    for text, expected in [
        ("", "0 characters, 0 of 4,000 bytes"),
        (" é ", "1 character, 2 of 4,000 bytes"),
        ("Ein Hund. Wer? 他睡觉。她也是。", "23 characters, longest sentence 12 of 4,000 bytes"),
        ("x" * 4001, "4,001 characters, 4,001 of 4,000 bytes: too long"),
        ("Ab. " * 3000, "11,999 characters, 12,001 of 12,000 bytes: too long"),
    ]:
        fill_in(browser, "text", text)
        assert texts(browser, "#count") == [expected]
        invalid = browser.find_element("id", "text").get_attribute("aria-invalid")
        assert invalid == str("too long" in expected).lower()
    fill_in(browser, "text", "One. Two.")
    assert "longest sentence" in texts(browser, "#count")[0]
    fill_in(browser, "require", "a phrase")  # makes the text one sentence
    assert texts(browser, "#count") == ["9 characters, 9 of 4,000 bytes"]


@pytest.mark.nightly
def test_keys_example_clear_undo_and_copy(browser, server):
    browser.find_element("id", "example").click()
    assert value(browser, "text") == "The old woman carries a small dog."
    wait(browser, lambda: texts(browser, ".piece"))
    assert not shown(browser, "example")
    fill_in(browser, "text", "")
    press(browser, "the dog", Keys.ENTER, Keys.ENTER, " the cat")
    chord(browser, Keys.META, Keys.ENTER)
    wait(browser, lambda: texts(browser, "#translation") == ["der Hund\n\n der Katze"])
    browser.find_element("id", "copy").click()
    assert texts(browser, "#copied") == ["Copied"]
    assert focused(browser) == "copy"
    browser.find_element("id", "clear").click()
    assert value(browser, "text") == ""
    assert shown(browser, "example")
    assert focused(browser) == "text"
    chord(browser, Keys.CONTROL, "z")
    assert value(browser, "text") == "the dog\n\n the cat"
    chord(browser, Keys.CONTROL, "a")
    chord(browser, Keys.CONTROL, "v")
    assert value(browser, "text") == "der Hund\n\n der Katze"
    assert complaints(browser) == []


@pytest.mark.nightly
def test_the_page_fits_all_widths_and_its_texts_have_contrast_and_its_fields_labels(
    browser, server
):
    browser.execute_script("document.getElementById('options').open = true")
    browser.execute_script("document.getElementById('key-field').hidden = false")
    assert browser.execute_script(UNLABELED) == 0
    server.refused["no"] = "not this"
    try:
        for width, scheme in [(1280, "light"), (800, "dark"), (390, "dark"), (320, "light")]:
            set_display(browser, width, 900, scheme)
            translate(browser, f"{'Donau' * 200} dog sees the cat")
            wait(browser, lambda: texts(browser, ".piece"))
            left, right = browser.execute_script(EDGES)
            assert left[1] < right[0] if width >= 800 else left[3] < right[2]
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            ratios = [browser.execute_script(CONTRAST)]
            translate(browser, "no")
            ratios.append(browser.execute_script(CONTRAST))
            fill_in(browser, "text", "x" * 5000)
            ratios.append(browser.execute_script(CONTRAST))
            assert min(ratio for ratio, _ in ratios) >= 4.5, ratios
    finally:
        set_display(browser, 1000, 900, "light")
