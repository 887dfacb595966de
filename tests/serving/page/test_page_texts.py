"""The page's box for a text, and the words of its translation with confidence and alignment."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

SENTENCE = "the dog sees the cat"
TRANSLATION = "der Hund sieht der Katze"


def translate_to_words(page, text):
    page.translate(text)
    page.wait(lambda: page.texts(".piece"))


def marked(page):
    """Returns the word pointed at and the words aligned with it."""
    return page.texts(".pointed"), page.texts(".aligned")


@pytest.mark.long
def test_words_show_confidence_and_alignment_to_the_pointer_and_the_keyboard(page, server):
    translate_to_words(page, SENTENCE)
    assert page.texts("#translation") == [TRANSLATION]
    assert page.texts("#source") == [SENTENCE]
    assert page.texts("#translation .low") == ["Hund"]
    assert page.texts("#translation .middle") == ["sieht"]
    # The geometric mean of the last translation has a sixth word.
    assert page.texts("#translations b") == ["76 %"] * 3 + ["79 %"]
    row = {"text": SENTENCE, "n_best": 4, "alignments": True, "confidence": True}
    assert server.predictions[0] == ("translate_n_best", {"text": SENTENCE})
    assert ("translate_with_options", row) in server.predictions

    target = page.all("#translation .piece")
    source = page.all("#source .piece")
    for word, marks, readout in [
        (target[1], (["Hund"], ["the"]), "“Hund”: confidence 41 %, aligned with “the”"),
        (source[1], (["dog"], ["der"]), "“dog”: aligned with “der”"),
        (target[4], (["Katze"], []), "“Katze”: confidence 95 %, aligned with no word"),
        (page.all("h1")[0], ([], []), ""),
    ]:
        webdriver.ActionChains(page.driver).move_to_element(word).perform()
        assert marked(page) == marks
        assert page.texts("#readout") == [readout]

    page.type("#copy", Keys.TAB)
    assert marked(page) == (["der"], ["dog"])
    for keys, marks in [
        ([Keys.ARROW_RIGHT], (["Hund"], ["the"])),
        ([Keys.ARROW_DOWN], (["the"], ["Hund"])),
        ([Keys.END], (["cat"], [])),
        ([Keys.ARROW_LEFT, Keys.HOME, Keys.ARROW_UP], (["Hund"], ["the"])),
        ([Keys.TAB, Keys.TAB], ([], [])),
    ]:
        page.press(*keys)
        assert marked(page) == marks

    # Another translation has words already, but not its attention.
    page.wait(lambda: "attention" in dict(server.predictions))
    count = len(server.predictions)
    page.all("#translations label")[1].click()
    assert page.texts("#translation .piece") == [*TRANSLATION.split()[:-1], "Katze!"]
    page.wait(lambda: len(server.predictions) > count)
    assert [signature for signature, _ in server.predictions[count:]] == ["attention"]
    server.refused_words = "no words"
    page.translate(SENTENCE)
    page.wait(lambda: page.errors() == ["no words"])
    assert page.texts("#translation") == [TRANSLATION]
    assert page.texts("#translations b") == ["–"] * 4


@pytest.mark.long
def test_a_pending_translation_can_be_cancelled_and_superseded(page, server):
    server.answers_wait.clear()
    for leave in (lambda: page.click("#cancel"), lambda: page.press(Keys.ESCAPE)):
        page.fill_in("text", "the dog")
        page.chord(Keys.CONTROL, Keys.ENTER)
        page.wait(lambda: page.shown("cancel"))
        assert page.texts("#state") == ["Translating …"]
        leave()
        assert page.texts("#state") == ["Cancelled"]
        assert not page.shown("cancel")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.fill_in("text", "the cat")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: len(server.predictions) == 4)
    server.answers_wait.set()
    page.wait(lambda: page.texts("#translation") == ["der Katze"])
    page.wait(lambda: page.texts("#source .piece") == ["the", "cat"])
    assert not page.errors()
    searches = [row["text"] for _, row in server.predictions if "confidence" in row]
    assert searches == ["the cat"], "words are requested for the newest text alone"


@pytest.mark.nightly
def test_keys_example_clear_undo_and_copy(page, server):
    page.click("#example")
    assert page.value("text") == "The old woman carries a small dog."
    page.wait(lambda: page.texts(".piece"))
    assert not page.shown("example")
    page.fill_in("text", "")
    page.press("the dog", Keys.ENTER, Keys.ENTER, " the cat")
    page.chord(Keys.META, Keys.ENTER)
    page.wait(lambda: page.texts("#translation") == ["der Hund\n\n der Katze"])
    page.click("#copy")
    assert page.texts("#copied") == ["Copied"]
    assert page.focused() == "copy"
    page.click("#clear")
    assert page.value("text") == ""
    assert page.shown("example")
    assert page.focused() == "text"
    page.chord(Keys.CONTROL, "z")
    assert page.value("text") == "the dog\n\n the cat"
    page.chord(Keys.CONTROL, "a")
    page.chord(Keys.CONTROL, "v")
    assert page.value("text") == "der Hund\n\n der Katze"
    assert page.complaints() == []


@pytest.mark.nightly
def test_attention_is_that_of_single_sentences(page, server):
    for text, is_single in {"He sleeps. She does": False, "It is 3.5 m, e.g. here": True}.items():
        translate_to_words(page, text)
        page.wait(lambda: page.shown("attention"))
        assert page.shown("view") == is_single
        assert page.shown("attention-note") != is_single
