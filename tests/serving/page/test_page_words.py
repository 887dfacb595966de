"""The page shows the words of a translation with their confidence, alignment and attention."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from support.serving.browsers import (
    choose,
    complaints,
    errors,
    press,
    shown,
    texts,
    translate,
    value,
    wait,
)

SENTENCE = "the dog sees the cat"
TRANSLATION = "der Hund sieht der Katze"


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
