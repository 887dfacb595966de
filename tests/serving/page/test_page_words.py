"""The page shows the words of a translation with their confidence and alignment."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from support.serving.browsers import complaints, errors, open_page, press, texts, translate, wait
from support.serving.scripted_server import OPTIONS, scripted
from support.serving.serving_client import served

SENTENCE = "the dog sees the cat"
TRANSLATION = "der Hund sieht der Katze"
PARAGRAPHS = "the dog sees the cat.\n\n  the cat sleeps.  "


@pytest.fixture
def server(browser):
    """The server of a model with all options, whose page is open."""
    with scripted(OPTIONS) as server:
        open_page(browser, server.address)
        yield server


def translate_to_words(browser, text):
    translate(browser, text)
    wait(browser, lambda: texts(browser, ".piece"))


def marked(browser):
    """Returns the word pointed at and the words aligned with it."""
    return texts(browser, ".pointed"), texts(browser, ".aligned")


def choose_markup(browser, name):
    browser.execute_script("document.getElementById('options').open = true")
    Select(browser.find_element("id", "markup")).select_by_visible_text(name)


def test_words_are_shaded_by_confidence(browser, server):
    translate_to_words(browser, SENTENCE)
    assert texts(browser, "#translation") == [TRANSLATION]
    assert texts(browser, "#source") == [SENTENCE]
    assert texts(browser, "#translation .low") == ["Hund"]
    assert texts(browser, "#translation .middle") == ["sieht"]
    styles = browser.execute_script(
        "return ['.low', '.middle', '.piece:not(.low, .middle)'].map((selector) => "
        "getComputedStyle(document.querySelector(`#translation ${selector}`)))"
        ".map((style) => [style.textDecorationLine, style.textDecorationStyle])"
    )
    assert styles == [["underline", "wavy"], ["underline", "dotted"], ["none", "solid"]]


def test_a_word_shows_its_numbers_and_its_aligned_words(browser, server):
    translate_to_words(browser, SENTENCE)
    target = browser.find_elements("css selector", "#translation .piece")
    source = browser.find_elements("css selector", "#source .piece")
    move = webdriver.ActionChains(browser).move_to_element
    move(target[1]).perform()
    assert marked(browser) == (["Hund"], ["the"])
    assert texts(browser, "#readout") == ["“Hund”: confidence 41 %, aligned with “the”"]
    move(source[1]).perform()
    assert marked(browser) == (["dog"], ["der"])
    assert texts(browser, "#readout") == ["“dog”: aligned with “der”"]
    move(target[4]).perform()
    assert texts(browser, "#readout") == ["“Katze”: confidence 95 %, aligned with no word"]
    move(browser.find_element("css selector", "h1")).perform()
    assert marked(browser) == ([], [])


def test_the_keyboard_reaches_all_words(browser, server):
    translate_to_words(browser, SENTENCE)
    browser.find_element("id", "copy").send_keys(Keys.TAB)
    assert marked(browser) == (["der"], ["dog"])
    press(browser, Keys.ARROW_RIGHT)
    assert marked(browser) == (["Hund"], ["the"])
    press(browser, Keys.ARROW_DOWN)
    assert marked(browser) == (["the"], ["Hund"])
    press(browser, Keys.END)
    assert marked(browser) == (["cat"], [])
    press(browser, Keys.ARROW_LEFT, Keys.HOME, Keys.ARROW_UP)
    assert marked(browser) == (["Hund"], ["the"])
    press(browser, Keys.TAB, Keys.TAB)
    assert marked(browser) == ([], [])
    assert browser.switch_to.active_element.get_attribute("name") == "translation"


def test_words_are_requested_after_the_translation_is_shown(browser, server):
    server.words_wait.clear()
    translate(browser, SENTENCE)
    wait(browser, lambda: texts(browser, ".word"))  # of the attention
    assert texts(browser, "#translation") == [TRANSLATION]
    assert not texts(browser, ".piece")
    assert server.predictions[0] == ("translate_n_best", {"text": SENTENCE})
    row = {"text": SENTENCE, "n_best": 4, "alignments": True, "confidence": True}
    wait(browser, lambda: ("translate_with_options", row) in server.predictions)
    # The request for the words of an abandoned text is dropped silently.
    server.refused["no"] = "not this"
    translate(browser, "no")
    assert errors(browser) == ["not this"]
    translate(browser, "the cat")
    server.words_wait.set()
    wait(browser, lambda: texts(browser, "#source .piece") == ["the", "cat"])
    assert texts(browser, "#translation") == ["der Katze"]
    assert not errors(browser)


def test_another_translation_has_its_own_words(browser, server):
    translate_to_words(browser, SENTENCE)
    count = len(server.predictions)
    browser.find_elements("css selector", "#translations label")[1].click()
    assert texts(browser, "#translation .piece") == [*TRANSLATION.split()[:-1], "Katze!"]
    wait(browser, lambda: len(server.predictions) > count)
    assert server.predictions[count][0] == "attention"
    assert len(server.predictions) == count + 1


def test_paragraphs_keep_their_lines(browser, server):
    translate_to_words(browser, PARAGRAPHS)
    assert server.predictions[0] == ("translate_n_best", {"text": PARAGRAPHS.strip()})
    assert texts(browser, "#source") == [PARAGRAPHS.strip()]
    assert texts(browser, "#translation") == ["der Hund sieht der cat.\n\n  der Katze schläft."]
    assert len(texts(browser, "#translation .piece")) == 8
    assert "Attention is shown for single sentences" in texts(browser, "#attention-note")[0]
    assert all(signature != "attention" for signature, _ in server.predictions)


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("He sleeps. She does, too", False),
        ("He sleeps.", True),
        ("It is 3.5 m, e.g. here", True),
        ("他睡觉。她也是。", False),
        ("“Why?” He knows.", False),
        ("a\nb", False),
    ],
)
def test_attention_is_that_of_single_sentences(browser, server, text, single):
    translate_to_words(browser, text)
    wait(browser, lambda: browser.find_element("id", "attention").is_displayed())
    assert browser.find_element("id", "view").is_displayed() == single
    assert browser.find_element("id", "attention-note").is_displayed() != single
    assert any(signature == "attention" for signature, _ in server.predictions) == single


def test_a_paragraph_translated_as_one_sentence_has_attention(browser, server):
    browser.execute_script("document.getElementById('options').open = true")
    Select(browser.find_element("id", "split")).select_by_visible_text("all as one")
    translate(browser, "He sleeps.\n\nShe does")
    wait(browser, lambda: texts(browser, ".word"))
    _, row = next(each for each in server.predictions if each[0] == "attention")
    assert row["text"] == "He sleeps. She does"


def test_markup_is_shown_as_text_that_can_be_copied(browser, server):
    choose_markup(browser, "HTML")
    source = "the <b>dog</b> sees <img src=x onerror=alert(1)>"
    written = "der <b>dog</b> sieht <img src=x onerror=alert(1)>"
    translate_to_words(browser, source)
    field = browser.find_element("id", "marked")
    assert field.is_displayed()
    assert field.get_property("value") == written
    assert texts(browser, "#translations i")[0] == written
    assert not browser.find_elements("css selector", "#result :is(b:not(label b), img)")
    assert texts(browser, "#translation .piece")[:3] == ["der", "dog", "sieht"]
    assert texts(browser, "#source .piece")[:2] == ["the", "dog"]
    assert texts(browser, "#attention-note") == ["Attention is shown for texts without markup."]
    browser.find_element("id", "copy").click()
    assert texts(browser, "#copied") == ["Copied"]
    browser.find_element("id", "text").send_keys(Keys.CONTROL, "av")
    assert browser.find_element("id", "text").get_property("value") == written
    assert complaints(browser) == []


def test_text_that_differs_from_its_words_stays_to_be_copied(browser, server):
    translate(browser, "the <b>dog")
    script = """
        job.words.set(job.chosen, { source: ["the", "<b>dog"], target: ["der", "dog"] });
        showTranslation(job)"""
    wait(browser, lambda: texts(browser, ".piece"))
    browser.execute_script(script)
    assert browser.find_element("id", "marked").get_property("value") == "der <b>dog"
    assert texts(browser, "#translation") == ["der dog"]
    assert texts(browser, "#source") == ["the <b>dog"]


def test_if_the_words_are_refused_the_translation_stays(browser, server):
    server.refused_words = "This text has no words"
    translate(browser, SENTENCE)
    wait(browser, lambda: errors(browser) == ["This text has no words"])
    assert texts(browser, "#translation") == [TRANSLATION]
    server.refused_words = None
    translate_to_words(browser, SENTENCE)
    assert not errors(browser)


@pytest.mark.long
def test_a_served_run_has_words_and_options(browser, exported_toy_run):
    with served(exported_toy_run[1], "--nocompile") as (_, address):
        open_page(browser, address)
        labels = texts(browser, "#source-label, #target-label")
        assert labels == ["Source: English", "Translation: German"]
        text = "The dog sleeps.\nThe cat sleeps!"
        translate_to_words(browser, text)
        assert texts(browser, "#source") == [text]
        assert texts(browser, "#source .piece") == text.split()
        best = texts(browser, "#translations i")[0]
        assert texts(browser, "#translation") == [best]
        assert texts(browser, "#translation .piece") == best.split()
        browser.find_element("css selector", "#translation .piece").click()
        assert "confidence" in texts(browser, "#readout")[0]
        choose_markup(browser, "HTML")
        browser.find_element("id", "glossary").send_keys("dog = der Hund")
        translate_to_words(browser, "<p>The dog <b>sleeps</b>.</p>")
        written = browser.find_element("id", "marked").get_property("value")
        assert written.startswith("<p>") and "der Hund" in written and "</b>" in written
        assert not errors(browser)
        browser.find_element("id", "glossary").send_keys(" x\ndog = x")
        translate(browser, "The dog sleeps.")
        assert "'dog' has two translations" in "".join(errors(browser))
