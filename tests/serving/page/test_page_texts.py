"""The page's box for a text, and the words of its translation with confidence and alignment."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from support.serving.browsers import (
    choose,
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

SENTENCE = "the dog sees the cat"
TRANSLATION = "der Hund sieht der Katze"
# Returns the left, right, top and bottom edges of the text and of its translation.
EDGES = """
return ["#text", "#translation"].map((each) => {
  const box = document.querySelector(each).getBoundingClientRect();
  return [box.left, box.right, box.top, box.bottom];
})
"""


def translate_to_words(browser, text):
    translate(browser, text)
    wait(browser, lambda: texts(browser, ".piece"))


def marked(browser):
    """Returns the word pointed at and the words aligned with it."""
    return texts(browser, ".pointed"), texts(browser, ".aligned")


@pytest.mark.long
def test_words_show_confidence_and_alignment_to_the_pointer_and_the_keyboard(browser, server):
    translate_to_words(browser, SENTENCE)
    assert texts(browser, "#translation") == [TRANSLATION]
    assert texts(browser, "#source") == [SENTENCE]
    assert texts(browser, "#translation .low") == ["Hund"]
    assert texts(browser, "#translation .middle") == ["sieht"]

    target = browser.find_elements("css selector", "#translation .piece")
    source = browser.find_elements("css selector", "#source .piece")
    for word, marks, readout in [
        (target[1], (["Hund"], ["the"]), "“Hund”: confidence 41 %, aligned with “the”"),
        (source[1], (["dog"], ["der"]), "“dog”: aligned with “der”"),
        (target[4], (["Katze"], []), "“Katze”: confidence 95 %, aligned with no word"),
        (browser.find_element("css selector", "h1"), ([], []), ""),
    ]:
        webdriver.ActionChains(browser).move_to_element(word).perform()
        assert marked(browser) == marks
        assert texts(browser, "#readout") == [readout]

    browser.find_element("id", "copy").send_keys(Keys.TAB)
    assert marked(browser) == (["der"], ["dog"])
    for keys, marks in [
        ([Keys.ARROW_RIGHT], (["Hund"], ["the"])),
        ([Keys.ARROW_DOWN], (["the"], ["Hund"])),
        ([Keys.END], (["cat"], [])),
        ([Keys.ARROW_LEFT, Keys.HOME, Keys.ARROW_UP], (["Hund"], ["the"])),
        ([Keys.TAB, Keys.TAB], ([], [])),
    ]:
        press(browser, *keys)
        assert marked(browser) == marks

    # Another translation has words already, but not its attention.
    count = len(server.predictions)
    browser.find_elements("css selector", "#translations label")[1].click()
    assert texts(browser, "#translation .piece") == [*TRANSLATION.split()[:-1], "Katze!"]
    wait(browser, lambda: len(server.predictions) > count)
    assert [signature for signature, _ in server.predictions[count:]] == ["attention"]


@pytest.mark.nightly
def test_words_and_percentages_follow_the_translation(browser, server):
    server.words_wait.clear()
    translate(browser, SENTENCE)
    wait(browser, lambda: texts(browser, ".word"))  # of the attention
    assert texts(browser, "#translation") == [TRANSLATION]
    assert not texts(browser, ".piece")
    assert texts(browser, "#translations b") == [""] * 4
    assert server.predictions[0] == ("translate_n_best", {"text": SENTENCE})
    row = {"text": SENTENCE, "n_best": 4, "alignments": True, "confidence": True}
    wait(browser, lambda: ("translate_with_options", row) in server.predictions)
    server.words_wait.set()
    # The geometric mean of the last translation has a sixth word.
    wait(browser, lambda: texts(browser, "#translations b") == ["76 %"] * 3 + ["79 %"])
    server.words_wait.clear()
    server.refused["no"] = "not this"
    translate(browser, "no")
    assert errors(browser) == ["not this"]
    translate(browser, "the cat")
    server.words_wait.set()
    wait(browser, lambda: texts(browser, "#source .piece") == ["the", "cat"])
    assert not errors(browser)
    server.refused_words = "no words"
    translate(browser, SENTENCE)
    wait(browser, lambda: errors(browser) == ["no words"])
    assert texts(browser, "#translation") == [TRANSLATION]
    assert texts(browser, "#translations b") == ["–"] * 4


@pytest.mark.nightly
def test_attention_is_that_of_single_sentences(browser, server):
    for text, is_single in {
        "He sleeps. She does, too": False,
        "It is 3.5 m, e.g. here": True,
        "他睡觉。她也是。": False,
        "“Why?” He knows.": False,
        "a\nb": False,
        "He sleeps.": True,
    }.items():
        server.predictions.clear()
        translate_to_words(browser, text)
        wait(browser, lambda: shown(browser, "attention"))
        assert shown(browser, "view") == is_single
        assert shown(browser, "attention-note") != is_single
        assert any(name == "attention" for name, _ in server.predictions) == is_single
    paragraphs = "the dog sees the cat.\n\n  the cat sleeps."
    translate_to_words(browser, paragraphs + "  ")
    assert texts(browser, "#source") == [paragraphs]
    assert texts(browser, "#translation") == ["der Hund sieht der cat.\n\n  der Katze schläft."]
    server.predictions.clear()
    choose(browser, "split", "all as one")
    translate(browser, "He sleeps.\n\nShe does")
    wait(browser, lambda: any(name == "attention" for name, _ in server.predictions))
    row = next(row for name, row in server.predictions if name == "attention")
    assert row["text"] == "He sleeps. She does"


@pytest.mark.nightly
def test_markup_is_shown_as_text_that_can_be_copied(browser, server):
    choose(browser, "markup", "HTML")
    translate_to_words(browser, "the <b>dog</b> sees <img src=x onerror=alert(1)>")
    written = "der <b>dog</b> sieht <img src=x onerror=alert(1)>"
    assert shown(browser, "marked") and value(browser, "marked") == written
    assert texts(browser, "#translations i")[0] == written
    assert not browser.find_elements("css selector", "#result :is(b:not(label b), img)")
    assert texts(browser, "#translation .piece")[:3] == ["der", "dog", "sieht"]
    assert texts(browser, "#attention-note") == ["Attention is shown for texts without markup."]
    browser.find_element("id", "copy").click()
    browser.find_element("id", "text").send_keys(Keys.CONTROL, "av")
    assert value(browser, "text") == written
    assert complaints(browser) == []


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


@pytest.mark.nightly
def test_the_page_fits_all_widths(browser, server):
    translate(browser, f"{'Donau' * 200} dog")
    wait(browser, lambda: texts(browser, ".piece"))
    browser.execute_script("document.getElementById('options').open = true")
    try:
        for width in (1280, 800, 390, 320):
            set_display(browser, width, 900, "light")
            left, right = browser.execute_script(EDGES)
            assert left[1] < right[0] if width >= 800 else left[3] < right[2]
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        set_display(browser, 1000, 900, "light")


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
